"""All places where a home's record is anchored besides the file: those of the settings, and those that were written before."""

from collections.abc import Mapping, Sequence

from ...config import SettingsRequest, section_alone
from ...errors import ConfigError, StoreError
from ...store.anchor import AnchorFile, AnchorMark, AnchorPlace, CheckMark
from ...types.records import AnchorReport
from .anchor_settings import AuditSettings, GitAnchor
from .anchor_state import StateFile, places_kept
from .git_anchor import GitAnchorPlace, kind_of
from .signed_anchor import SignedAnchor, anchor_keyring

WrittenPlace = SignedAnchor | GitAnchorPlace
_UNREAD = "they cannot be read, so a repository that they may name was not compared"


def written_places(file: AnchorFile, settings: AuditSettings | None, environ: Mapping[str, str]) -> Sequence[WrittenPlace]:
    """Those that are kept up to date: the signed one, and what the settings name."""
    git = settings.anchor.git if settings is not None else None
    signed = SignedAnchor(file, anchor_keyring(environ))
    return (signed, GitAnchorPlace(file, git, environ)) if git is not None else (signed,)


def known_places(file: AnchorFile, settings: AuditSettings | None, environ: Mapping[str, str]) -> Sequence[AnchorPlace]:
    """Those of the settings, and those that were written before, as the state directory remembers them: what the home says takes none away."""
    found: dict[str, AnchorPlace] = {place.place: place for place in written_places(file, settings, environ)}
    for kind in places_kept(file, "git-"):
        kept = StateFile(file, kind)
        try:
            state = kept.read()
            if kind_of(state.remote, state.branch) != kind:
                raise ValueError("it names another branch")
            place = GitAnchorPlace(file, GitAnchor(remote=state.remote, branch=state.branch), environ, kept=False)
        except (OSError, ValueError) as error:
            found[kept.path] = UnreadPlace(kept, error)
        else:
            found.setdefault(place.place, place)
    return list(found.values())


class UnreadPlace:
    """A repository that the state directory remembers in a file that cannot be read, so that it is not known."""

    def __init__(self, kept: StateFile, error: OSError | ValueError) -> None:
        self._kept, self._error = kept, error

    def report(self, check: CheckMark) -> AnchorReport:
        """It is not compared, and that is not ok."""
        return AnchorReport(place=self._kept.path, record=0, ok=False, why=f"cannot be read ({self._error})")

    def accept(self, mark: AnchorMark, check: CheckMark) -> None:
        """Forget it. Raises `StoreError`."""
        try:
            self._kept.remove()
        except OSError as error:
            raise StoreError(f"the anchor {self._kept.path} stays as it was: {error}") from error


def places_of_home(file: AnchorFile, asked: SettingsRequest) -> Sequence[AnchorPlace]:
    """All known places; what the settings say is looked up now."""
    try:
        settings = section_alone(asked, "audit", AuditSettings)
    except ConfigError as error:
        return (*known_places(file, None, asked.environ), UnreadSettings(error.text))
    return known_places(file, settings, asked.environ)


class UnreadSettings:
    """Settings that cannot be read, so that the places they may name are not known."""

    def __init__(self, why: str) -> None:
        self._why = why

    def report(self, check: CheckMark) -> AnchorReport:
        """A note."""
        return AnchorReport(place="the settings", record=0, ok=True, note=f"{_UNREAD}: {self._why}")

    def accept(self, mark: AnchorMark, check: CheckMark) -> None:
        """There is nothing to accept."""
