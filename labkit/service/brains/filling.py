"""How the simulated model fills arguments: it looks in the text for what each property of the schema asks for.

What it cannot find it names as missing; `placeholder` is the emptiest value that a strict schema still accepts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labkit.service.brains.reading import kind_of, properties, terms

CITIES = (
    "北京|上海|广州|深圳|杭州|成都|南京|武汉|西安|重庆|天津|苏州|香港|东京|纽约|伦敦|巴黎|Beijing|Shanghai|Guangzhou|Shenzhen|"
    "Hangzhou|Chengdu|Nanjing|Wuhan|New York|London|Paris|Tokyo|Berlin|San Francisco|Los Angeles|Chicago|Boston|Seattle"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
QUOTED = re.compile(r"(?<!\w)[\"“「『'‘]([^\"”」』’]{1,300}?)[\"”」』'’](?!\w)")
SHAPES = {
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII),
    "url": re.compile(r"https?://[^\s\"'<>，。]+"),
    "date": re.compile(
        rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号]|[今明后昨]天|周[一二三四五六日末]|"
        rf"(?i:\b(?:today|tomorrow|yesterday|(?:next |this )?(?:{_DAY}|week(?:end)?)|{_MONTH} \d{{1,2}}(?:,? \d{{4}})?)\b)"
    ),
    "time": re.compile(r"\d{1,2}:\d{2}(?:\s?[ap]m)?|\d{1,2}\s?[ap]m|\d{1,2}点"),
    "id": re.compile(r"(?<![\w@.-])(?:[A-Za-z]{1,8}[-_]?)?\d{2,}[\w-]*(?![\w@]*@)", re.ASCII),
    "city": re.compile(rf"{CITIES}|(?<=\bin )[A-Z][a-z]+(?:,? [A-Z][A-Za-z]+)*|[\u4e00-\u9fff]{{2,3}}(?=市)"),
    "keyword": re.compile(
        r"(?:[Ss]earch(?: for)?|[Ff]ind(?: me)?|[Ll]ook(?:ing)? for|buy|about|need|sell|stock)\s+(?:an?\s|the\s|some\s|any\s)?"
        r"([^.?!,;，。]+)|(?:搜索|搜一下|搜|查找|找一下|找|想买|买|有没有|推荐)(?:一下|一些|几款|一款|个)?([^，。！？,?!吗呢]+)"
    ),
    "text": re.compile(
        r"(?:saying|that says|say|because|因为|原因是|内容是|内容为|正文|说|告诉他|告诉她)[:：,，\s]*(.+)",
        re.S,
    ),
    "subject": re.compile(r"(?:subject|title|titled|主题|标题)(?:\s+is|是|为|[:：])?\s*([^,，。.;；]+)"),
    "person": re.compile(
        r"(?<=\bto )[A-Z]\w+(?: [A-Z]\w+)*|(?<=给|向)[\u4e00-\u9fff]{2,3}(?=发|转|写|打|说)"
    ),
}
INVENTED = {
    "id": "12345",
    "city": "Beijing",
    "email": "user@example.com",
    "date": "2026-01-01",
    "time": "09:00",
}
_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:,\d{3})*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Filled:
    arguments: dict[str, Any]
    missing: tuple[str, ...] = ()


def fill(parameters: dict, text: str, *, missing: str = "ask", several: bool = True) -> list[Filled]:
    """The argument objects that a text asks for: one, or one for each city or number it names.

    >>> schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    >>> [f.arguments for f in fill(schema, "北京和上海的天气")], fill(schema, "天气怎么样")[0].missing
    ([{'city': '北京'}, {'city': '上海'}], ('city',))
    """
    first = _fill_object(parameters, text, missing, parameters)
    for name, schema in properties(parameters).items() if several else ():
        kind = kind_of(name, schema)
        alone = sum(kind_of(*other) == kind for other in properties(parameters).items()) == 1
        if kind in ("city", "id") and alone and schema.get("type") == "string" and name in first.arguments:
            found = list(dict.fromkeys(_shaped(kind, text)))
            return [Filled({**first.arguments, name: value}, first.missing) for value in found] or [first]
    return [first]


def _fill_object(schema: dict, text: str, missing: str, root: dict) -> Filled:
    required = schema.get("required") or ()
    arguments: dict[str, Any] = {}
    lacking: list[str] = []
    for name, part in properties(schema).items():
        part = resolve(part, root)
        value = next(_candidates(name, part, text, name in required, arguments, root), None)
        if value is None and name in required and not _nullable(part):
            lacking.append(name)
            value = _invent(name, part, root) if missing == "invent" else placeholder(part, root)
        if value is not None or name in required:
            arguments[name] = value
    return Filled(arguments, () if missing == "invent" else tuple(lacking))


def kinds_in(text: str) -> frozenset[str]:
    """Which kinds of value a text holds, so that a tool that needs them can be known to be servable."""
    return frozenset(kind for kind, shape in SHAPES.items() if shape.search(text))


def _candidates(name: str, schema: dict, text: str, required: bool, taken: dict, root: dict) -> Iterator[Any]:
    if "const" in schema:
        yield schema["const"]
    if isinstance(schema.get("enum"), list):
        yield from _mentioned(schema["enum"], text)
        return
    kind, type_ = kind_of(name, schema), _type(schema)
    words = re.sub(r"[_\s]+", r"[ _]?", re.escape(name).replace(r"\_", "_"))
    named = re.search(
        rf"\b{words}\b[\"']?\s*(?:is|of|=|:|：|为|是)?\s*(\"[^\"]+\"|'[^']+'|[^\s,，。;；)}}]+)", text, re.I
    )
    if type_ in ("integer", "number"):
        yield from _numbers(named, text, taken, type_)
    elif type_ == "boolean":
        if required or named:
            yield bool(terms(name.replace("_", " ")).keys() & terms(text).keys())
    elif type_ == "array":
        item = resolve(schema.get("items") or {}, root)
        found = (
            list(dict.fromkeys(_candidates(name, item, text, False, {}, root)))
            if _type(item) == "string"
            else []
        )
        yield from [found] if found else ()
    elif type_ == "object":
        inner = _fill_object(schema, text, "ask", root)
        yield from [inner.arguments] if not inner.missing and inner.arguments else ()
    elif type_ == "string":
        yield from _strings(kind, named, text, required)


def _strings(kind: str | None, named: re.Match | None, text: str, required: bool) -> Iterator[str]:
    explicit = named and re.search(r"[=:：]|is\b|为|是", named.group(0)[: named.start(1) - named.start(0)])
    if explicit:
        yield named.group(1).strip("\"'")
    yield from _shaped(kind, text)
    if kind in ("text", "subject", "keyword", "person", None):
        yield from QUOTED.findall(text) if required else ()
    if kind in ("text", "subject") and required:
        yield text.strip()
    if kind in (None, "person", "keyword") and required:
        yield from re.findall(r"(?<![\w.])(?=[\w.-]*[\d_])[A-Za-z0-9][\w.-]*\w", text, re.ASCII)
        yield from re.findall(r"(?<=[a-z,] )[A-Z]\w+(?: [A-Z]\w+)*", text)


def _shaped(kind: str | None, text: str) -> Iterator[str]:
    for match in SHAPES[kind].finditer(text) if kind in SHAPES else ():
        value = next((group for group in match.groups() if group), match.group(0)).strip()
        if value and not (kind == "id" and SHAPES["date"].match(value)):
            yield value


def _numbers(named: re.Match | None, text: str, taken: dict, type_: str) -> Iterator[int | float]:
    used = [value for value in taken.values() if isinstance(value, int | float | str)]
    ordered = [named.group(1)] if named else []
    for raw in (*ordered, *_NUMBER.findall(re.sub(r"[$¥￥]", " ", text))):
        if _NUMBER.fullmatch(raw):
            value = float(raw.replace(",", ""))
            value = int(value) if value.is_integer() else value
            if value not in used and str(value) not in used and (type_ == "number" or isinstance(value, int)):
                yield value


def _mentioned(options: list, text: str) -> Iterator[Any]:
    low, asked = text.lower(), terms(text).keys()
    yield from (option for option in options if option is not None and str(option).lower() in low)
    yield from (o for o in options if isinstance(o, str) and any(t in asked for t in terms(o) if t[0] == "@"))


def resolve(schema: dict, root: dict) -> dict:
    """The schema behind a `$ref`, or the first branch of a union that is not null."""
    for _ in range(8):
        if isinstance(schema.get("$ref"), str):
            target: Any = root
            for step in schema["$ref"].split("/")[1:]:
                target = target.get(step, {}) if isinstance(target, dict) else {}
            schema = target if isinstance(target, dict) else {}
        elif isinstance(schema.get("anyOf"), list) and schema["anyOf"]:
            branches = [branch for branch in schema["anyOf"] if isinstance(branch, dict)]
            solid = [branch for branch in branches if branch.get("type") != "null"]
            nullable = {"x-null": True} if len(solid) < len(branches) else {}
            schema = {"description": schema.get("description", ""), **(solid or [{}])[0], **nullable}
        else:
            break
    return schema


def _type(schema: dict) -> str:
    type_ = schema.get("type")
    names = type_ if isinstance(type_, list) else [type_]
    return next(
        (str(name) for name in names if name not in ("null", None)),
        "object" if "properties" in schema else "string",
    )


def _nullable(schema: dict) -> bool:
    return bool(schema.get("x-null")) or (isinstance(schema.get("type"), list) and "null" in schema["type"])


def _invent(name: str, schema: dict, root: dict) -> Any:
    usable = _type(schema) == "string" and "enum" not in schema
    return INVENTED.get(kind_of(name, schema) or "", "something") if usable else placeholder(schema, root)


def placeholder(schema: dict, root: dict, depth: int = 0) -> Any:
    """The emptiest value of the right form: what a grammar leaves when the text says nothing.

    >>> placeholder({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}, {})
    {'n': 1}
    """
    schema = resolve(schema, root)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    if _nullable(schema) or depth > 8:
        return None
    match _type(schema):
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "array":
            return [placeholder(schema.get("items") or {}, root, depth + 1)] * int(schema.get("minItems", 0))
        case "object":
            inner = properties(schema)
            return {k: placeholder(inner.get(k, {}), root, depth + 1) for k in schema.get("required") or ()}
    return {"email": "user@example.com", "date": "2026-01-01", "time": "00:00:00"}.get(
        schema.get("format", ""), ""
    )
