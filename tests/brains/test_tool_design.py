"""How tools are cut decides what is chosen: what S2 says of merging and splitting, on the simulated model."""

from labkit.protocol.messages import user
from labkit.service.brains.simulated import probabilities
from labkit.service.decide import Ask, ToolSpec

TEXT = {"type": "string"}
MAIL = {"type": "object", "properties": dict.fromkeys(("to", "subject", "body"), TEXT)}
NOTHING = {"type": "object", "properties": {}}
SEND = ToolSpec("send_email", "写好并发送邮件，一次填完。Write and send an email at once.", MAIL)
NEIGHBOURS = (
    ToolSpec("get_email_drafts", "邮件草稿。Email drafts.", NOTHING),
    ToolSpec("get_email_contacts", "邮件联系人。Email contacts.", NOTHING),
)
WISH = user("给 li@example.com 写封邮件，说货到了")


def chance(*tools, text=WISH):
    return probabilities(Ask("m", (text,), tools=tools, callable=tools, temperature=0.7)).get("send_email", 0)


def test_a_wish_that_three_tools_could_mean_has_one_home_once_they_are_merged():  # covers: B5.3
    assert chance(SEND) > chance(SEND, *NEIGHBOURS)


def test_merging_takes_from_those_who_want_the_other_thing():  # covers: B5.3
    drafts = user("看看我的邮件草稿")
    assert chance(SEND, text=drafts) > chance(SEND, *NEIGHBOURS, text=drafts)
