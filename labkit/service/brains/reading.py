"""How the simulated model reads: text becomes weighted terms, a tool becomes the terms that speak for and against it.

English words, Chinese character bigrams, and a short table of words that mean the same in both languages.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from math import log

from labkit.service.decide import ToolSpec

MEANINGS = {
    "weather": "weather forecast temperature degrees 天气 气温 温度 多少度 冷不冷 热不热",
    "order": "order parcel shipment delivery 订单 快递 物流 包裹 发货",
    "product": "product products goods merchandise catalogue 商品 产品 货品",
    "ticket": "ticket complaint 工单",
    "calendar": "calendar meeting schedule event appointment agenda 日历 日程 会议 开会 安排",
    "email": "email mail inbox e-mail 邮件 邮箱 发信",
    "contact": "contact recipient 联系人 收件人",
    "address": "address 地址",
    "customer": "customer account profile 客户 账户 账号",
    "price": "price cost 价格 多少钱",
    "stock": "stock inventory 库存 有货",
    "code": "repository repo branch commit 仓库 分支 提交",
    "file": "file document 文件 文档",
    "invoice": "invoice receipt 发票",
    "news": "news headline 新闻",
    "currency": "currency exchange rate 汇率 兑换",
    "search": "search find browse recommend 搜索 搜一下 找一下 查找 有没有 推荐 想买 找",
    "read": "get check look lookup query show fetch track view read status list retrieve tell"
    " 查询 查看 查一下 查 看看 看一下 状态 到哪 读取 告诉",
    "refund": "refund reimburse 退款 退钱",
    "cancel": "cancel cancelled abort 取消 撤销",
    "delete": "delete remove erase 删除 删掉",
    "send": "send forward mail-to email-to 发送 发给 转发 寄给 发邮件 发一封",
    "create": "create open add new book reserve submit file-a 创建 新建 提交 开一张 添加 预订 预约",
    "update": "update change modify edit rename 修改 更新 更改 改成 改为 改",
    "transfer": "transfer wire remit 转账 汇款 转给 打款",
    "pay": "pay payment charge 支付 付款 扣款",
    "share": "share grant unlock expose 分享 授权 解锁 公开",
}
ACTIONS = frozenset("refund cancel delete send create update transfer pay share".split())
_MEANING = {word: f"@{meaning}" for meaning, words in MEANINGS.items() for word in words.split()}
_CHINESE_WORDS = sorted((word for word in _MEANING if ord(word[0]) > 255), key=len, reverse=True)
_CHINESE_WORD = re.compile("|".join(_CHINESE_WORDS))
KINDS = {
    "email": r"e?-?mail|recipient|^to$|^cc$|^bcc$|邮箱",
    "url": r"url|link|website|网址",
    "city": r"city|location|place|destination|origin|城市|地点",
    "date": r"date|(?:^|_)day|日期",
    "time": r"time|时间",
    "id": r"(?:^|_)(?:id|no|number|code|order|ticket)s?$|Id$|编号|单号|订单号",
    "subject": r"subject|title|summary|主题|标题",
    "text": r"body|content|message|text|reason|note|comment|description|question|正文|内容|原因",
    "keyword": r"keyword|query|search|term|product|item|关键词",
    "person": r"name|user|receiver|person|owner|姓名",
}
_STOP = frozenset(
    "a an and any are as at be by can could do does for from give go has have how i if in into is it its me my need"
    " no not of on one or our out please so some that the their them then there these they this to up us use used user"
    " using want was we what when where which who will with would you your function tool call specific given today".split()
)
_FUNCTION_CHARACTERS = frozenset(
    "的了吗呢吧是我你他她它们这那在和与或及请帮把被给就也都一下个不要可以以对时并"
)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_SENTENCE = re.compile(r"[。；;！!？?\n]|\.(?=\s|$)")
NOT_WHEN = re.compile(
    r"不适用|不要|不用于|不负责|不处理|不能用|请勿|不包括|do(?:es)? not |don't|not for|never|not (?:to be )?used|instead",
    re.I,
)
USE_WHEN = re.compile(
    r"适用|当用户|使用场景|时使用|何时|例如|示例|use (?:this|when|it|for)|when the|examples?:|e\.g\.", re.I
)


def terms(text: str) -> dict[str, float]:
    """What a text is about: meanings weigh 2 (reading verbs 0.7), other English words 1, Chinese bigrams 0.5.

    >>> terms("取消订单 10001") == terms("Cancel the order 10001") == {"@cancel": 2.0, "@order": 2.0}
    True
    """
    text = unicodedata.normalize("NFKC", text)
    found: dict[str, float] = {}
    for word in _WORD.findall(text):
        word = word.lower()
        word = word if word in _MEANING else word.removesuffix("s")
        if len(word) > 1 and word not in _STOP:
            found[_MEANING.get(word, word)] = 1.0
    for word in _CHINESE_WORD.findall(text):
        found[_MEANING[word]] = 1.0
    for run in _CHINESE.findall(_CHINESE_WORD.sub(" ", text)):
        pairs = (run[i : i + 2] for i in range(len(run) - 1))
        found.update((pair, 0.5) for pair in pairs if not _FUNCTION_CHARACTERS & set(pair))
    return {term: _weight(term, weight) for term, weight in found.items()}


def _weight(term: str, weight: float) -> float:
    return 0.7 if term in ("@read", "@search") else 2.0 if term[0] == "@" else weight


@dataclass(frozen=True, slots=True)
class Reading:
    """The terms that speak for a tool and against it, and the actions that it promises."""

    strength: dict[str, float]
    against: dict[str, float]
    named: frozenset[str]
    actions: frozenset[str]
    needs: frozenset[str]


@lru_cache(maxsize=4096)
def read_tool(tool: ToolSpec) -> Reading:
    """A tool as the model understands it: its name counts 1.6, what it says 0.8, when to use it 1.1, parameters 0.3."""
    fields = [(1.6, tool.name)]
    against: dict[str, float] = {}
    for sentence in _SENTENCE.split(tool.description):
        if NOT_WHEN.search(sentence):
            against |= terms(sentence)
        else:
            fields.append((1.1 if USE_WHEN.search(sentence) else 0.8, sentence))
    for name, schema in properties(tool.parameters).items():
        fields.append((0.3, f"{name} {schema.get('description', '')} {schema.get('enum', '')}"))
    strength: dict[str, float] = {}
    for factor, text in fields:
        for term in terms(text):
            strength[term] = max(strength.get(term, 0.0), factor) + (0.4 if term in strength else 0.0)
    against = {term: weight for term, weight in against.items() if term not in strength}
    named = frozenset(terms(tool.name))
    actions = frozenset(action for action in ACTIONS if strength.get(f"@{action}", 0) > 0.5)
    inner = properties(tool.parameters)
    needs = frozenset(
        filter(None, (kind_of(n, inner[n]) for n in tool.parameters.get("required") or () if n in inner))
    )
    return Reading(strength, against, named, actions, needs)


def kind_of(name: str, schema: dict) -> str | None:
    """What a property wants, by its name, then its format, then its description."""
    for source in (name, schema.get("format") or "", schema.get("description") or ""):
        for kind, pattern in KINDS.items():
            if re.search(pattern, str(source), re.I if source != name else 0):
                return kind
    return None


def properties(schema: dict) -> dict[str, dict]:
    found = schema.get("properties")
    return {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}


def shares(asked: dict[str, float], readings: list[Reading]) -> dict[str, float]:
    """How much each asked term still tells when several tools contain it: 1 for one tool, less for each more."""
    counts = dict.fromkeys(asked, 0)
    for reading in readings:
        for term in asked.keys() & reading.strength.keys():
            counts[term] += 1
    return {term: weight / (1 + 0.5 * log(max(counts[term], 1))) for term, weight in asked.items()}
