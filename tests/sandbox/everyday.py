"""Commands of every day, each with the programs it needs; each ends with 0 in a plain process."""

COMMANDS: dict[str, tuple[str, str]] = {
    "a repository from its start to a branch": (
        "git",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo a > a && git add a && git commit -qm one && git checkout -qb x && git gc -q && git log --oneline | grep one && git status --short",
    ),
    "a clone with its history": (
        "git",
        "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git clone -q . ../c && cd ../c && git diff && git log --stat | cat",
    ),
    "a worktree and a stash": (
        "git",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo a > a && git add a && git commit -qm one && git worktree add -q ../w && echo b > a && git stash -q && git stash pop -q",
    ),
    "a patch": ("git patch", "git init -q . && echo a > f && git add f && echo b > f && git diff > d && git checkout -q f && git apply d && patch -R f < d"),
    "a virtual environment": ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'"),
    "a pool of forked processes": (
        "python3",
        "python3 -c 'import multiprocessing as m; p = m.get_context(\"fork\").Pool(2); assert p.map(abs, [-1]) == [1]; p.close(); p.join()'",
    ),
    "a pool of spawned processes": (
        "python3",
        'printf \'import multiprocessing as m\\nif __name__ == "__main__":\\n    with m.get_context("spawn").Pool(2) as p: print(p.map(abs, [-3]))\\n\' > s.py && python3 s.py',
    ),
    "a pool from a fork server": (
        "python3",
        'printf \'import multiprocessing as m\\nif __name__ == "__main__":\\n    with m.get_context("forkserver").Pool(2) as p: print(p.map(abs, [-3]))\\n\' > s.py && python3 s.py',
    ),
    "shared values of processes": (
        "python3",
        'printf \'import multiprocessing as m\\nif __name__ == "__main__":\\n    with m.Manager() as g: d = g.dict(); d[1] = 2; print(d)\\n    print(m.Lock(), m.Value("i", 3).value, m.Queue())\\n\' > s.py && python3 s.py',
    ),
    "an executor": ("python3", "python3 -c 'from concurrent.futures import ProcessPoolExecutor as E; print(list(E(2).map(abs, [-1])))'"),
    "an event loop with a program": (
        "python3",
        'python3 -c \'import asyncio; exec("async def f():\\n p = await asyncio.create_subprocess_exec(\\"true\\")\\n return await p.wait()"); assert asyncio.run(f()) == 0\'',
    ),
    "programs and threads": (
        "python3",
        'python3 -c \'import subprocess, threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join(); assert subprocess.check_output(["echo", "hi"]) == b"hi\\n"\'',
    ),
    "temporary files": (
        "python3",
        'python3 -c \'import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b"x"); d = tempfile.TemporaryDirectory(); tempfile.TemporaryFile().write(b"y")\'',
    ),
    "a database": (
        "python3",
        'python3 -c \'import sqlite3; c = sqlite3.connect("a.db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(a)"); c.commit()\'',
    ),
    "certificates, time zones, numbers of the machine": (
        "python3",
        "python3 -c 'import ssl, zoneinfo, os, hashlib; ssl.create_default_context(); zoneinfo.ZoneInfo(\"Europe/Berlin\"); assert os.cpu_count(); os.getloadavg()'",
    ),
    "copies and archives": (
        "python3",
        'python3 -c \'import shutil, pathlib; pathlib.Path("a").write_text("x"); shutil.copy2("a", "b"); shutil.make_archive("z", "zip", "."); shutil.copytree("/usr/share/doc/bash", "d"); shutil.rmtree("d")\'',
    ),
    "compiled modules": ("python3", "printf 'x = 1\\n' > m.py && python3 -m py_compile m.py && python3 -m compileall -q . && python3 -m unittest -q m; true"),
    "tests": (
        "python3",
        'printf \'def test_a(tmp_path):\\n    (tmp_path / "x").write_text("y")\\n\' > test_a.py && @PYTHON@ -m pytest -q -p no:cacheprovider --basetemp=made test_a.py',
    ),
    "a package installed from a directory": (
        "python3",
        'mkdir -p p/src/mine && touch p/src/mine/__init__.py && printf \'[build-system]\\nrequires = ["hatchling"]\\nbuild-backend = "hatchling.build"\\n[project]\\nname = "mine"\\nversion = "1"\\n\' > p/pyproject.toml && @PYTHON@ -m pip install -q --disable-pip-version-check --no-index --no-build-isolation --no-deps --target t ./p && ls t/mine',
    ),
    "the list of packages": ("python3", "@PYTHON@ -m pip --version && @PYTHON@ -m pip list --disable-pip-version-check > list"),
    "a server of files on its own loopback": (
        "python3",
        'python3 -c \'import http.server as h, threading, urllib.request as u; s = h.HTTPServer(("127.0.0.1", 0), h.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever, daemon=True).start(); u.urlopen(f"http://127.0.0.1:{s.server_port}/").read()\'',
    ),
    "a program in C": ("gcc ldd nm strip", "printf 'int main(void){return 0;}\\n' > a.c && gcc -O2 -g a.c -o a && ./a && ldd a && nm a > n && strip a && ./a"),
    "a program in C++ with threads": (
        "g++",
        "printf '#include <iostream>\\n#include <thread>\\nint main(){std::thread t([]{std::cout<<1;});t.join();}\\n' > b.cpp && g++ -pthread b.cpp -o b && ./b",
    ),
    "a build that knows what is old": (
        "make",
        "printf 'x: y\\n\\tcp y x\\ny:\\n\\techo 1 > y\\n' > Makefile && make -j2 && make && touch -d 2020-01-01 x && make | grep cp",
    ),
    "a script with files, programs and workers": (
        "node",
        'node -e \'const f = require("fs"); f.writeFileSync("x", "1"); f.utimesSync("x", 1, 1); f.chmodSync("x", 0o600); require("child_process").execSync("echo hi"); new (require("worker_threads").Worker)("1", {eval: true})\'',
    ),
    "processes that speak to each other": (
        "node",
        'printf \'const c = require("child_process"); if (process.send) { process.send("hi") } else { const f = c.fork(__filename); f.on("message", m => { console.log(m) }) }\' > n.js && node n.js | grep hi',
    ),
    "a script of a package": ("npm", "npm init -y > /dev/null && npm pkg set scripts.test='echo tested' && npm test --silent | grep tested"),
    "a package of npm installed from a directory": (
        "npm",
        "mkdir p && (cd p && npm init -y > /dev/null) && npm init -y > /dev/null && npm install --silent --offline --no-audit ./p && ls node_modules/p",
    ),
    "an archive with its modes and times": (
        "tar gzip",
        "mkdir q && echo 1 > q/a && chmod 640 q/a && touch -d 2020-01-01 q/a && tar czf q.tgz q && rm -r q && tar xzf q.tgz && test $(stat -c %a q/a) = 640 && test $(date -r q/a +%Y) = 2020",
    ),
    "many files": (
        "tar",
        "mkdir q && (cd q && for i in $(seq 300); do echo $i > $i; done) && tar cf q.tar q && rm -r q && tar xf q.tar && ls q | wc -l | grep 300",
    ),
    "copies of every kind": (
        "cp",
        "mkdir q && echo 1 > q/a && cp -a q q2 && cp -p q/a q3 && cp -r q q4 && mv q4 q5 && rm -rf q5 && install -m 755 q/a q6 && diff -r q q2 && cp --reflink=auto q/a q7",
    ),
    "changes in place": ("sed perl", "echo a > f && sed -i s/a/b/ f && sed -i.bak s/b/c/ f && perl -i -pe s/c/d/ f && grep d f"),
    "a sort with temporary files": ("sort", "seq 300000 | sort -R | sort -n --buffer-size=1M | tail -1 | grep 300000"),
    "a search": (
        "find xargs",
        "mkdir -p a/b && touch a/b/c.x && find . -name '*.x' | grep c.x && find a -type f -print0 | xargs -0 -n1 -P2 ls && find /usr/share/doc -maxdepth 1 > l && find a -name '*.x' -delete",
    ),
    "a comparison": ("diff comm paste", "diff <(echo a) <(echo a) && comm <(seq 3) <(seq 2 4) && paste <(seq 2) <(seq 2)"),
    "a script with a here document": (
        "bash",
        "printf 'cat <<E\\nhere\\nE\\ncat <<< there\\n' > h && bash h | grep there && bash -c 'exec 3< /dev/null; trap \"echo bye\" EXIT; [[ -d / ]]; printf \"%s\" {1..3} $RANDOM'",
    ),
    "a key": ("ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -lf key.pub && test $(stat -c %a key) = 600"),
    "random bytes and a key": ("openssl", "openssl rand -hex 4 && openssl genrsa -out k.pem 2048 && openssl version"),
    "pages": ("less man", "echo text | less -F | cat && echo x | more && man -w ls > m; true"),
    "language and time": ("locale date", "locale && LC_ALL=C.UTF-8 date && date +%F && TZ=Europe/Berlin date && date -d yesterday"),
    "who and where": ("id", "id && hostname && uname -a && nproc && uptime && df -h . && du -sh . && free -m"),
    "processes": ("ps top", "ps aux > p && ps -ef > q && top -bn1 | head -3"),
    "temporary names": ("mktemp", "mktemp && mktemp -d && t=$(mktemp) && echo x > $t && cat $t && rm $t"),
    "pipes and links": (
        "mkfifo ln",
        "mkfifo f && (echo hi > f &) && cat f && ln -s a l && ln -sf b l && readlink l && touch z && ln z zz && test $(stat -c %h zz) = 2",
    ),
    "modes and times": (
        "touch chmod",
        "touch -d 2020-01-01 t && test $(date -r t +%Y) = 2020 && chmod +x t && chmod -R u+w . && umask 077 && touch u && test $(stat -c %a u) = 600 && touch -h -d 2020-01-01 t",
    ),
    "files of a size": (
        "truncate dd",
        "truncate -s 10M big && dd if=/dev/zero of=z bs=1k count=100 status=none && fallocate -l 1M fa; wc -c big && head -c 5 /dev/urandom | od -x",
    ),
    "compressed files": ("gzip bzip2 xz", "echo a > g && gzip g && zcat g.gz && bzip2 -k g.gz && xz -k g.gz && gzip -d g.gz"),
    "zipped files": ("zip unzip", "echo a > g && zip -q g.zip g && unzip -l g.zip && unzip -qo g.zip"),
    "json": ("jq", "echo '{\"a\":1}' | jq .a && echo '{\"a\":1}' | python3 -m json.tool"),
    "lines and columns": (
        "awk",
        "awk 'BEGIN{print systime()}' && echo a b | cut -d' ' -f2 && echo abc | tr a-c A-C && seq 5 | xargs -n1 -P2 echo && seq 3 | tee te",
    ),
    "programs that run others": (
        "timeout nohup",
        "timeout 5 sleep 0.1 && time true && nohup true && nice -n 5 true && (sleep 0.1 & wait) && setsid true && env -i true",
    ),
    "facts about the machine": ("cat", "head -1 /etc/os-release /proc/cpuinfo /proc/meminfo /proc/self/status && ls /proc/self/fd && cat /proc/loadavg"),
    "names": ("getent file", "which git; type ls && command -v bash && file /bin/ls && getent passwd root && getent hosts localhost"),
    "installed packages": ("dpkg", "dpkg -l bash | tail -1 && dpkg -S /bin/bash"),
    "a look into a program": ("strings objdump readelf", "strings /bin/ls > s && objdump -h /bin/ls > o && readelf -h /bin/ls > r"),
    "two directories alike": ("rsync", "mkdir s && echo 1 > s/a && rsync -a s/ d/ && rsync -a s/ d/ && ls d/a"),
    "a build in Rust": ("cargo", "cargo new --quiet --vcs none c && cd c && cargo build --offline -q && ./target/debug/c"),
    "a program in Rust": ("rustc", "echo 'fn main(){println!(\"hi\");}' > m.rs && rustc m.rs && ./m"),
    "a build in Go": ("go", "go mod init x && printf 'package main\\nfunc main(){println(1)}\\n' > m.go && go build && ./x"),
    "a program in Java": ("javac java", "printf 'class A{public static void main(String[] a){System.out.println(1);}}' > A.java && javac A.java && java A"),
    "a script in Perl": ("perl", 'perl -MPOSIX -e \'print strftime("%Y", localtime), "\\n"; die unless -e "/etc/passwd"\''),
    "a script in Ruby": ("ruby", "ruby -e 'puts 1'"),
    "an editor without a terminal": ("vim", "vim -es -u NONE -c 'normal ihello' -c 'wq' v.txt; grep hello v.txt"),
    "a program in a terminal of its own": ("script", "script -qc 'echo in a terminal' /dev/null"),
    "a table": ("sqlite3", "sqlite3 b.db 'create table t(a); insert into t values(1); select * from t;'"),
    "a key and a signature": (
        "gpg",
        "mkdir -m 700 gh && gpg --homedir gh --batch --passphrase '' --quick-gen-key a@b default default never && echo x > m && gpg --homedir gh --batch -s m && gpg --homedir gh --verify m.gpg; e=$?; gpgconf --homedir $PWD/gh --kill all; exit $e",
    ),
    "versions of what needs a network": ("curl wget", "curl --version > c && wget --version > w; test -s c"),
    "paths": (
        "dirname",
        "dirname /a/b && basename /a/b && realpath . && readlink -f . && pwd -P && stat . && md5sum /bin/ls && sha256sum /bin/ls && base64 /bin/true > b",
    ),
}
