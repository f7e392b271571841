#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py [--list | --words [PATH...]]: hold the sources to the rules of CONTRIBUTING.md that a compiler does not
know.

It reads text, not C: comments and strings are blanked, of each #if the first branch counts, and what is left is cut
into functions and declarations by its braces. --list also prints the longest functions;
--words looks for words that left the tree and nothing else. Ends with 1 when a rule is broken.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

FUNCTION_P95, FUNCTION_MAX = 30, 60
NESTING_MAX = 4
PARAMETERS_MAX = 6  # five, and the error
DICTATED = {"httpd_on_access"}  # callbacks whose form a library prescribes
FILE_MAX, TEST_FILE_MAX = 600, 800
HEADER_MAX = 150  # of a private header
CARRY_HEADER_MAX = 80  # core/engine/carry: one small interface for each module
FILES_MAX = 20  # of a folder
# Folders whose files are counted: sources and pages. Inputs of fuzzers and recordings are data, one file for each.
COUNTED = ("core", "comm", "plugins", "include", "examples", "tests", "tools", "docs", "cmake", "bindings", "conf",
           "packaging")
NOT_COUNTED = re.compile(r"tests/(fuzz/corpus/|goldens/\w+/|local/first_fault/recorded/)|(^|/)(__pycache__|target)/")

# A layer may include itself and what stands before it; "public" is include/roundhouse.
LAYERS = ["public", "base", "httpd", "job", "convert", "config", "host", "build", "schema", "conformance", "store",
          "engine", "kueue", "kube", "local", "controller", "cli"]
# The one file that may know a library's types.
CONFINED = {"yaml.h": "core/base/yaml/yaml.c", "ini.h": "core/base/ini.c", "cjson/cJSON.h": "core/base/json/node.c",
            "uv.h": "core/base/os/loop.c", "curl/curl.h": ("core/kube/http/", "tests/bench/controller/creates.c",
                                                                      "tests/controller/faults/stop.c"),
            "microhttpd.h": "core/httpd/httpd.c",
            "gnutls/gnutls.h": "core/httpd/tls.c",
            "openssl/evp.h": "core/base/crypto/crypto.c",
            "openssl/pem.h": "core/httpd/certificate.c",
            "openssl/x509v3.h": "core/httpd/certificate.c", "cmocka.h": "tests/"}
# What rh_comm is built with, too: it needs the C library alone.
SHARED_WITH_COMM = ("core/base/hash.h", "core/base/library/elf.h", "core/base/library/library.h",
                    "core/base/library/sealed.h", "core/base/library/trust.h")
# The private structures of the engine: tests see them through a snapshot.
ENGINE_STATE = {"core/engine/carry/engine_state.h", "core/engine/carry/entry_state.h"}
SNAPSHOT = "tests/engine/carry/snapshot.c"
BANNED = re.compile(r"(?<![\w.>])(gets|strcpy|strcat|sprintf|vsprintf|atoi|atol|atof|strtok|alloca|mktemp|tmpnam|"
                    r"system|popen|rand|srand)\s*\(")
# The core and its plugins have one thread, and ./check runs ThreadSanitizer on the other layers alone.
THREADS = re.compile(r"\b(pthread_create|thrd_create|uv_thread_create(?:_ex)?|uv_queue_work)\s*\(")
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

# Words of a private dialect that left the tree: the term of the field stands beside each.
WORDS_THAT_LEFT = {
    "tell": "report, emit, send", "tells": "reports", "told": "reported", "telling": "reporting", "untold": "pending",
    "news": "event", "hear": "receive", "hears": "receives", "heard": "received", "said": "reported, message",
    "witness": "reporter, evidence", "flight": "in-flight request", "landing": "completion", "landed": "completed",
    "bury": "tombstone", "buried": "tombstone", "heat": "tree cache", "chill": "evict", "starve": "throttle",
    "starved": "throttled", "climb": "hierarchical all-reduce",
    "climbs": "hierarchical all-reduce", "hub": "rendezvous server", "cure": "hint", "cures": "hints",
    "chills": "evicts", "chilled": "evicted", "cool": "evict", "heats": "hydrates", "heated": "hydrated",
    "landings": "completions", "buries": "tombstone", "hubs": "rendezvous servers", "starving": "throttled",
    "crush": "kill, escalate", "crushed": "killed", "podplans": "runtime specs",
    "podplan": "runtime spec", "odds": "divergence", "astray": "misplaced"}
# Others of that dialect are plain words elsewhere (press Ctrl-C, levels of a log, a line, a feed, warm-up, hold(),
# zero), or good in a sentence and bad as a name (NAMES_THAT_LEFT).
NAMES_THAT_LEFT = {"said", "told", "wanted"}
WORDY = ("core", "comm", "plugins", "include", "examples", "tests", "tools", "docs", "cmake", "bindings", "conf",
         "packaging", ".ci", "README.md", "CONTRIBUTING.md", "SECURITY.md", "check", "quickstart")
WORD = re.compile(r"(?<![A-Za-z])(in[ _-])?(%s)(?![A-Za-z])" % "|".join(WORDS_THAT_LEFT), re.I)
# "": scripts whose name has no suffix
WORDY_SUFFIXES = ("", ".c", ".h", ".in", ".cpp", ".hpp", ".rs", ".py", ".sh", ".md", ".txt", ".cmake", ".yaml", ".ini")
# recordings of other programs, and headers of an ABI that is frozen
WORDY_EXCEPT = re.compile(r"goldens/\w+/(?!\w+\.(py|md)$)|frozen/|include/roundhouse/plugin\.h|recorded|recordings|"
                          r"corpus|^build/")
ALLOWED_WORDS = re.compile(r"Docker Hub|GitHub|Hugging Face "
                           r"Hub|HF_HUB_OFFLINE|\"hub\"|rh_comm/hub|huggingface-hub|flight recorder")

LEX = re.compile(r"//(?:[^\n\\]|\\(?:.|\n))*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\(?:.|\n))*\"|'(?:[^'\\\n]|\\(?:.|\n))*'",
                 re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|\n|[^\s\w]|\d\w*")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.M)
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "__attribute__", "_Static_assert",
            "__typeof__"}
SPDX = "SPDX-License-Identifier: Apache-2.0"


def blank(match):
    """A comment or string, replaced by as many newlines as it held."""
    text = match.group(0)
    return {"/": " ", '"': '""', "'": "0"}[text[0]] + "\n" * text.count("\n")


def live(code):
    """Without preprocessor lines, every #else branch, #if 0, and what is for C++ alone."""
    out, stack, continued = [], [], False
    for line in code.split("\n"):
        directive = re.match(r"\s*#\s*(\w*)\s*(.*)", line)
        if continued or directive:
            was_continued, continued = continued, line.rstrip().endswith("\\")
            word, rest = directive.groups() if directive and not was_continued else ("", "")
            if word in ("if", "ifdef", "ifndef"):
                dead = rest == "0" or (word == "ifdef" and rest == "__cplusplus")
                stack.append([not dead, not dead])
            elif word in ("elif", "else") and stack:
                stack[-1] = [not stack[-1][1], True]
            elif word == "endif" and stack:
                stack.pop()
            line = ""
        out.append(line if all(branch[0] for branch in stack) else "")
    return "\n".join(out)


def tokens_of(code):
    line, out = 1, []
    for match in TOKEN.finditer(code):
        if match.group(0) == "\n":
            line += 1
        else:
            out.append((match.group(0), line))
    return out


def matching(tokens, start):
    """Index of the brace that closes the one at start, and the deepest level between."""
    depth = deepest = 0
    for index in range(start, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[index][0], 0)
        deepest = max(deepest, depth)
        if depth == 0:
            return index, deepest
    return len(tokens) - 1, deepest


def head_of(words):
    """Name and parameter count of a function's head, or (None, 0). Macros that take arguments are no names."""
    depth, start = 0, None
    for index, word in enumerate(words):
        if word == "(":
            if depth == 0 and index and re.match(r"[A-Za-z_]", words[index - 1]) and words[index - 1] not in KEYWORDS:
                start = index if start is None else start
            depth += 1
        elif word == ")":
            depth -= 1
    if start is None:
        return None, 0
    depth, commas, inside = 0, 0, []
    for word in words[start:]:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0:
            break
        commas += word == "," and depth == 1
        inside.append(word)
    return words[start - 1], 0 if inside[1:] in ([], ["void"]) else commas + 1


Function = collections.namedtuple("Function", "file name line length nesting parameters static")
Declaration = collections.namedtuple("Declaration", "words first last")


def scan(file, code):
    """-> functions, declarations at file scope, bodies of structs and unions."""
    tokens = tokens_of(code)
    functions, declarations, bodies, words, first, index = [], [], [], [], None, 0
    while index < len(tokens):
        word, line = tokens[index]
        if word == "{" and words[:1] == ["extern"] and "(" not in words:
            words, first = [], None
        elif word == "{":
            end, deepest = matching(tokens, index)
            name, parameters = head_of(words) if "=" not in words else (None, 0)
            if name:
                functions.append(Function(file, name, first, tokens[end][1] - first + 1, deepest - 1, parameters,
                                          "static" in words))
                words, first = [], None
            else:
                if words and words[-2:-1] and words[-2] in ("struct", "union") and "=" not in words:
                    bodies.append(tokens[index + 1 : end])
                words.append("{}")
            index = end
        elif word in (";", "}"):
            if word == ";" and words and not words[0].startswith("RH_DEFINE_"):
                declarations.append(Declaration(words, first, line))
            words, first = [], None
        elif word != "__extension__":
            words.append(word)
            first = first or line
        index += 1
    return functions, declarations, bodies


def is_prototype(words):
    return "=" not in words and "(" in words and words[0] not in ("typedef", "_Static_assert") and head_of(words)[0]


def is_mutable_variable(words):
    head = words[: words.index("=")] if "=" in words else words
    names = [word for word in head if re.match(r"[A-Za-z_]", word)]
    if head[0] in ("typedef", "extern", "_Static_assert") or "(" in head:
        return False
    if "_Atomic" in head:
        return False  # what a signal handler reaches
    if head[-1] == "{}" or len(names) - sum(word in ("struct", "union", "enum", "static") for word in names) < 2:
        return False  # a type, or only its name
    # what is behind the last star says whether the variable itself is constant
    stars = [index for index, word in enumerate(head) if word == "*"]
    return "const" not in (head[stars[-1] :] if stars else head)


class Report:
    def __init__(self):
        self.broken = 0

    def add(self, where, what):
        self.broken += 1
        print(f"{where}: {what}")


def comment_lines(text):
    """Numbers of the lines on which a comment stands."""
    out = set()
    for match in LEX.finditer(text):
        if match.group(0)[0] == "/":
            begin = text.count("\n", 0, match.start()) + 1
            out.update(range(begin, begin + match.group(0).count("\n") + 1))
    return out


def check_docs(report, file, text, declarations, bodies):
    beside = comment_lines(text)
    code = LEX.sub(blank, text).split("\n")
    # the comment behind one declaration does not speak of the next
    above = {line for line in beside if not code[line - 1].strip()}
    for declaration in declarations:
        if is_prototype(declaration.words) or declaration.words[0] == "typedef":
            if declaration.first - 1 not in above and declaration.last not in beside:
                report.add(f"{file}:{declaration.first}", "declaration without a comment")
    if not file.startswith("include/"):
        return
    for body in bodies:
        begin = None
        for word, line in body:
            begin = begin or line
            if word == ";":
                if begin - 1 not in above and line not in beside:
                    report.add(f"{file}:{line}", "member of a public struct without a comment")
                begin = None


def check_text(report, file, text, code):
    if SPDX not in text.split("\n", 1)[0]:
        report.add(f"{file}:1", "the first line must carry the SPDX identifier")
    most = TEST_FILE_MAX if file.startswith("tests/") else FILE_MAX
    if text.count("\n") > most:
        report.add(file, f"{text.count(chr(10))} lines, at most {most}")
    if file.endswith(".h") and not file.startswith(("include/", "tests/")):
        most = CARRY_HEADER_MAX if file.startswith("core/engine/carry/") else HEADER_MAX
        if text.count("\n") > most:
            report.add(file, f"{text.count(chr(10))} lines, at most {most} in a private header")
        if file.startswith(("core/", "comm/")):
            guard = "RH_" + re.sub(r"\W", "_", file.removeprefix("core/")).upper()
            found = re.search(r"^#ifndef (RH_\w+_H)$", text, re.M)
            if found and found.group(1) != guard:
                report.add(file, f"its include guard is not {guard}")
    for match in BANNED.finditer(code):
        report.add(f"{file}:{code.count(chr(10), 0, match.start()) + 1}", f"{match.group(1)}() is banned")
    for match in THREADS.finditer(code) if file.startswith(("core/", "plugins/")) else ():
        report.add(f"{file}:{code.count(chr(10), 0, match.start()) + 1}",
                   f"{match.group(1)}() makes a thread, and the core has none")
    for match in MARKS.finditer(text):
        report.add(f"{file}:{text.count(chr(10), 0, match.start()) + 1}", f"{match.group(1)}: open an issue instead")


def layer_of(file):
    parts = file.split("/")
    if parts[0] == "include":
        return "public"
    return parts[1] if parts[0] == "core" and len(parts) > 2 else None


def check_include(report, file, quote, name):
    """-> the file of the tree that is included, or None."""
    allowed = CONFINED.get(name)
    if allowed and not file.startswith(allowed):
        names = allowed if isinstance(allowed, str) else " and ".join(allowed)
        report.add(file, f"<{name}> may be included by {names} only")
    if quote == "<":
        return None
    candidates = ["core/" + name, "include/" + name, str(pathlib.PurePosixPath(file).parent / name)]
    target = next((candidate for candidate in candidates if (ROOT / candidate).is_file()), None)
    if not target:
        return None
    source, destination = layer_of(file), layer_of(target)
    if source and destination and LAYERS.index(destination) > LAYERS.index(source):
        report.add(file, f"layer {source} must not include layer {destination} ({name})")
    if file.startswith("plugins/") and target.startswith("core/"):
        report.add(file, f"a plugin includes nothing of the core ({name})")
    if file.startswith("comm/") and target.startswith("core/") and target not in SHARED_WITH_COMM:
        report.add(file, f"rh_comm includes nothing of the core but {' '.join(SHARED_WITH_COMM)} ({name})")
    return target


def check_cycles(report, graph):
    done, path = set(), []

    def visit(file):
        if file in path:
            report.add(file, "include cycle: " + " -> ".join(path[path.index(file) :] + [file]))
        elif file not in done:
            path.append(file)
            for target in sorted(graph.get(file, ())):
                visit(target)
            path.pop()
            done.add(file)

    for file in sorted(graph):
        visit(file)


def reached_from(start, graph):
    """-> the files that a file reaches by the arrows of a graph"""
    todo, seen = [start], set()
    while todo:
        for target in graph.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def check_snapshots(report, graph):
    """Of all tests one file knows how the engine keeps what it knows, so that it may keep it in another way."""
    for file in sorted(graph):
        state = sorted(reached_from(file, graph) & ENGINE_STATE) if file.startswith("tests/") else []
        if state and file != SNAPSHOT:
            report.add(file, f"{' and '.join(state)} may be included by {SNAPSHOT} only: add what the test needs there")


def names_in(tokens):
    """-> the identifiers that may be functions: no members, no tags of types."""
    words = [word for word, _ in tokens]
    return {word for before, two, word in zip([""] * 2 + words, [""] + words, words)
            if two not in (".", "struct", "enum", "union") and before + two != "->"}


def names_in_bodies(code, functions):
    """-> the identifiers in the functions of a header; what it declares calls nothing."""
    spans = [range(function.line, function.line + function.length) for function in functions]
    heads = {function.name for function in functions}
    return names_in([token for token in tokens_of(code) if any(token[1] in span for span in spans)]) - heads


def call_graph(functions, names):
    """-> for each file the other files whose functions it names, with these names.

    @param functions of all files. @param names by file: every identifier in it, of a header those in its inline
    functions. A function that is static in a .c file, or that two files define, draws no arrow."""
    definers = collections.defaultdict(set)
    for function in functions:
        if (function.file.endswith(".h") or not function.static) and function.name != "main":
            definers[function.name].add(function.file)
    graph = collections.defaultdict(lambda: collections.defaultdict(set))
    for file in names:
        for name in names[file] & definers.keys():
            if len(definers[name]) == 1 and file not in definers[name]:
                graph[file][min(definers[name])].add(name)
    return graph


def circles_of(graph):
    """-> the sets of files that reach each other, each of two files or more."""
    reached = {start: reached_from(start, graph) for start in sorted(graph)}
    circles = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in reached if a in reached[a]}
    return sorted(circles, key=sorted)


def check_calls(report, functions, names):
    """Circles of calls between files: one that calls another one is above it. A file and its own header are one."""
    graph = call_graph(functions, names)
    for circle in circles_of(graph):
        if len({file[:-2] for file in circle}) == 1:
            continue
        first = min(circle)
        report.add(first, "circle of calls: " + "; ".join(
            f"{a} -> {b} ({min(graph[a][b])})" for a in sorted(circle) for b in sorted(graph[a]) if b in circle))


def check_names(report, file, code):
    """Names of variables and functions that explain nothing."""
    for word, line in tokens_of(code):
        if word in NAMES_THAT_LEFT:
            report.add(f"{file}:{line}", f"\"{word}\" explains nothing; name what it is, as \"expected\"")


def check_folders(report):
    """A folder that holds more files than a reader takes in at a look becomes two."""
    files = [path.relative_to(ROOT) for top in COUNTED for path in (ROOT / top).rglob("*") if path.is_file()]
    folders = collections.Counter(file.parent.as_posix() for file in files if not NOT_COUNTED.search(file.as_posix()))
    for folder, count in sorted(folders.items()):
        if count > FILES_MAX:
            report.add(folder, f"{count} files, at most {FILES_MAX} in a folder")


def check_tests(report, file, code):
    """A cmocka test is a function of (void **state); what else stands in the file may be named freely."""
    stem = pathlib.PurePosixPath(file).stem
    for match in re.finditer(r"^static void (\w+)\(void \*\*\w+\)\n?\s*{", code, re.M):
        if stem.startswith("test_") and re.match(r"test_",
                                                 match.group(1)) and not match.group(1).startswith(stem + "__"):
            line = code.count("\n", 0, match.start()) + 1
            report.add(f"{file}:{line}", f"{match.group(1)} must be named {stem}__<case>")


def check_functions(report, functions, show):
    for function in functions:
        where = f"{function.file}:{function.line}"
        if function.length > FUNCTION_MAX:
            report.add(where, f"{function.name} has {function.length} lines, at most {FUNCTION_MAX}")
        if function.nesting > NESTING_MAX:
            report.add(where, f"{function.name} nests {function.nesting} levels, at most {NESTING_MAX}")
        if function.parameters > PARAMETERS_MAX and function.name not in DICTATED:
            report.add(where, f"{function.name} has {function.parameters} parameters, at most {PARAMETERS_MAX}")
    lengths = sorted(function.length for function in functions) or [0]
    p50, p95 = (lengths[round(q * (len(lengths) - 1))] for q in (0.5, 0.95))
    if p95 > FUNCTION_P95:
        report.add("functions", f"95 % have at most {p95} lines, the limit is {FUNCTION_P95}")
    print(f"{len(functions)} functions: half have at most {p50} lines, 95 % at most {p95}, the longest has "
          f"{lengths[-1]}")
    for function in sorted(functions, key=lambda f: -f.length)[: 20 if show else 0]:
        print(f"  {function.length:4} {function.name} {function.file}:{function.line}")


def check_c(report):
    functions, graph, names = [], collections.defaultdict(set), {}
    for top in ("include", "core", "comm", "plugins", "examples", "tests"):
        for path in sorted((ROOT / top).rglob("*.[ch]")):
            file, text = path.relative_to(ROOT).as_posix(), path.read_text()
            code = LEX.sub(blank, text)
            found, declarations, bodies = scan(file, live(code))
            check_text(report, file, text, code)
            for quote, name in INCLUDE.findall(text):
                target = check_include(report, file, quote, name)
                if target:
                    graph[file].add(target)
            if top == "tests":
                check_tests(report, file, code)
                continue
            check_names(report, file, code)
            functions += found
            names[file] = names_in(tokens_of(live(code))) if file.endswith(".c") else names_in_bodies(live(code), found)
            if file.endswith(".h"):
                check_docs(report, file, text, declarations, bodies)
            for declaration in declarations:
                if is_mutable_variable(declaration.words):
                    report.add(f"{file}:{declaration.first}",
                               "mutable variable at file scope: " + " ".join(declaration.words[:6]))
    check_cycles(report, graph)
    check_snapshots(report, graph)
    check_calls(report, functions, names)
    return functions


def check_words(report, tops):
    """Words that left, in code, comments and pages alike; recordings of other programs may say what they like."""
    for path in sorted(path for top in tops for path in ([ROOT / top] if (ROOT / top).is_file()
                                                         else (ROOT / top).rglob("*"))):
        file = path.relative_to(ROOT).as_posix()
        if not path.is_file() or path.suffix not in WORDY_SUFFIXES or WORDY_EXCEPT.search(file):
            continue
        if file == "tools/measure.py" or file == "docs/glossary.md" or file == "tests/tools/test_measure.py":
            continue
        for number, line in enumerate(ALLOWED_WORDS.sub("", path.read_text(errors="replace")).split("\n"), 1):
            for match in WORD.finditer(line):
                if not (match.group(1) and match.group(2).lower() == "flight"):
                    word = match.group(2).lower()
                    report.add(f"{file}:{number}", f"\"{word}\" left the tree; a term of the field is: "
                               f"{WORDS_THAT_LEFT[word]}")


def check_others(report):
    """Scripts and build files carry the licence line too, behind a first line #! where they have one."""
    names = ["CMakeLists.txt", "*.cmake", "*.cmake.in", "*.py", "*.sh"]
    files = [path for name in names for path in ROOT.rglob(name)] + [ROOT / "check", ROOT / "quickstart",
                                                                     ROOT / ".ci/run"]
    for path in sorted(set(files)):
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith("build") and SPDX not in "".join(path.read_text().split("\n")[:2]):
            report.add(f"{file}:1", "the first lines must carry the SPDX identifier")


def main():
    report = Report()
    if sys.argv[1:2] == ["--words"]:
        check_words(report, sys.argv[2:] or WORDY)
        print(f"{report.broken} words")
        return 1 if report.broken else 0
    functions = check_c(report)
    check_others(report)
    check_folders(report)
    check_functions(report, functions, "--list" in sys.argv[1:])
    check_words(report, WORDY)
    print(f"measures: {report.broken} rules broken")
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
