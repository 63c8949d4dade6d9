"""What a model wrote, read strictly and leniently; P01 to P13 are bugs reported in other projects."""

import json
import logging
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from labkit.protocol.errors import InvalidArguments, TruncatedArguments
from labkit.protocol.schema import parse_arguments
from labkit.protocol.tools import Toolbox
from tests.schema.test_lint import JSON


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Weather(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    unit: Literal["c", "f"] = "c"


class Ticket(BaseModel):
    title: str
    body: str


class Todos(BaseModel):
    todos: list[str]
    note: str = ""


class Limits(BaseModel):
    limit: int = 0
    flag: bool = False
    code: str = ""
    share: float = 0


def refusal(text, model, **how):
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments(text, model, **how)
    return str(caught.value)


@pytest.mark.parametrize("text", ["", "  ", None, "null", "{}", "\n"])
def test_p01_and_p13_nothing_means_no_arguments_where_none_are_needed(text):
    assert parse_arguments(text, Nothing) == Nothing()


@pytest.mark.parametrize("text", ["", "  ", None, "{}"])
def test_p01_nothing_where_a_field_is_required_names_the_field(text):
    assert refusal(text, Weather) == "missing required argument: city"


CUT = '{"title":"退货","body":"客户反映'


def test_p02_arguments_cut_by_the_output_limit_are_not_the_models_mistake():
    with pytest.raises(
        TruncatedArguments, match="the output limit cut the arguments off after 26 characters"
    ):
        parse_arguments(CUT, Ticket, truncated=True)
    with pytest.raises(TruncatedArguments):
        parse_arguments("", Ticket, truncated=True)


def test_p02_the_same_text_without_word_of_the_limit_is_called_unfinished():
    assert "the text stops halfway" in refusal(CUT, Ticket)
    assert "halfway" not in refusal('{"title": oops}', Ticket)


def test_p02_a_limit_reached_right_after_whole_arguments_does_no_harm():
    assert parse_arguments('{"city":"北京"}', Weather, truncated=True).city == "北京"


P05 = '{"todos":"[\\"a\\",\\"b\\"]","note":"[1,2]"}'


def test_p05_a_list_inside_a_string_is_refused_strictly():
    assert refusal(P05, Todos).startswith("todos: Input should be a valid array, got")


def test_p05_and_read_leniently_only_where_the_schema_asks_for_a_list(caplog):
    with caplog.at_level(logging.INFO, "labkit"):
        assert parse_arguments(P05, Todos, lenient=True) == Todos(todos=["a", "b"], note="[1,2]")
    assert "todos was read out of a string" in caplog.text


def test_p07_an_object_in_place_of_the_string_is_taken():
    assert parse_arguments({"city": "北京"}, Weather).city == "北京"


def test_p09_a_parallel_wrapper_is_an_unknown_tool_that_names_the_known_ones():
    with pytest.raises(Exception, match=r"no tool 'multi_tool_use.parallel'. There are: "):
        Toolbox(())["multi_tool_use.parallel"]


@pytest.mark.parametrize(
    ("sent", "strict", "lenient"),
    [
        ({"limit": 20.0}, 20, 20),
        ({"limit": "20"}, None, 20),
        ({"limit": "20.0"}, None, 20),
        ({"limit": 20.5}, None, None),
        ({"limit": 2.0**53}, None, None),  # from here on a float may stand for another whole number
        ({"limit": "NaN"}, None, None),
        ({"limit": True}, None, None),
        ({"flag": "true"}, None, True),
        ({"flag": 1}, None, None),
        ({"code": "00123"}, "00123", "00123"),
        ({"code": 123}, None, None),
        ({"share": 1}, 1.0, 1.0),
    ],
)
def test_p11_numbers_and_booleans_in_other_clothes(sent, strict, lenient):
    for expected, how in ((strict, False), (lenient, True)):
        if expected is None:
            assert refusal(json.dumps(sent), Limits, lenient=how).startswith(next(iter(sent)))
        else:
            read = getattr(parse_arguments(json.dumps(sent), Limits, lenient=how), next(iter(sent)))
            assert (read, type(read)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text", ['{"share":NaN}', '{"share":Infinity}', '{"share":-Infinity}', '{"share":1e999}']
)
def test_p11_what_is_no_number_in_json_is_refused_even_where_a_float_is_asked_for(text):
    for lenient in (True, False):
        assert "no number in JSON" in refusal(text, Limits, lenient=lenient)


def test_arguments_encoded_twice_are_said_to_be_and_read_leniently():
    text = json.dumps(json.dumps({"city": "上海"}))
    assert "encoded twice" in refusal(text, Weather)
    assert parse_arguments(text, Weather, lenient=True).city == "上海"


def test_a_name_in_another_case_is_pointed_out_and_read_leniently_with_a_note_in_the_log(caplog):
    caplog.set_level(logging.INFO)
    text = '{"City":"上海"}'
    said = refusal(text, Weather)
    assert said == "missing required argument: city; unknown argument: City (did you mean city?)"
    assert parse_arguments(text, Weather, lenient=True).city == "上海" and "City means city" in caplog.text


def test_a_name_in_another_case_never_overwrites_the_right_one():
    assert "unknown argument: City" in refusal('{"city":"北京","City":"上海"}', Weather, lenient=True)


@pytest.mark.parametrize(
    ("text", "got"), [("[1]", "[1]"), ("5", "5"), ('"hi"', '"hi"'), ("true", "true"), ([1], "[1]")]
)
def test_anything_but_an_object_is_refused_showing_what_came(text, got):
    assert f"must be a JSON object, got {got}" in refusal(text, Weather)


def test_a_complaint_names_the_place_the_rule_and_the_value():
    said = refusal('{"city":"北京","unit":"kelvin"}', Weather)
    assert said == "unit: Input should be 'c' or 'f', got \"kelvin\""


@given(st.text() | JSON | st.text().map(json.dumps) | JSON.map(json.dumps))
def test_no_rubbish_gets_past_with_anything_but_a_model_error(rubbish):
    for lenient in (True, False):
        try:
            assert isinstance(parse_arguments(rubbish, Weather, lenient=lenient), Weather)
        except InvalidArguments as error:
            assert str(error)


@pytest.mark.parametrize("text", ['{"city":"\\ud800"}', '{"city":"\ud800"}', "[" * 100_000, b"{}", {1: {2}}])
def test_lone_surrogates_bottomless_nesting_and_bytes_are_complaints_too(text):
    assert refusal(text, Weather)


@given(st.builds(Limits, limit=st.integers(-(2**60), 2**60), flag=st.booleans(), code=st.text()))
def test_what_was_sent_as_it_should_be_comes_back_unchanged_in_both_readings(sent):
    for lenient in (True, False):
        assert parse_arguments(sent.model_dump_json(), Limits, lenient=lenient) == sent
