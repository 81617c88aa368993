"""The table of faults and attacks in docs/evidence/faults.md: its rows, and the tests that stand behind each."""

from collections.abc import Mapping

ROWS: Mapping[str, tuple[str, ...]] = {
    "an ingest is killed": (
        "integration/test_ingest_faults.py::test_a_kill_at_any_moment_leaves_a_whole_index",
        "integration/test_ingest_faults.py::test_a_kill_during_the_first_ingest_leaves_no_index_and_the_next_one_makes_it",
    ),
    "a read or a write of an ingest fails": ("integration/test_ingest_faults.py::test_every_call_fails_once",),
    "the power fails during an ingest": ("integration/test_ingest_faults.py::test_the_power_fails_at_any_moment",),
    "an index is damaged": (
        "integration/test_index_facts.py::test_no_damaged_manifest_opens_and_an_ingest_repairs_each",
        "integration/test_index.py::test_a_damaged_file_is_named",
        "functional/test_index_states.py::test_a_damaged_index",
        "unit/knowledge/model/test_manifest.py::test_every_damage_is_found",
        "unit/knowledge/model/test_manifest.py::test_every_truncation_is_damage",
    ),
    "an index is swapped under load": ("integration/test_swap_under_load.py",),
    "two, four, eight writers": (
        "integration/test_ingest_faults.py::test_writers_at_the_same_time_leave_one_whole_index",
    ),
    "ingest, publish, swap, vote, forget, ask in any order": ("integration/test_any_order.py",),
    "files are emptied": (
        "integration/test_ingest_command.py::test_what_is_empty_now_keeps_what_it_held_until_told_otherwise",
        "integration/test_ingest_command.py::test_a_folder_that_is_not_mounted_keeps_all_that_it_held",
        "integration/test_ingest_command.py::test_what_moved_out_of_an_emptied_place_is_not_kept_twice",
        "integration/test_ingest_command.py::test_where_nothing_can_be_read_the_command_fails_and_the_index_stays",
    ),
    "documents that cost too much": ("documents/converters/test_limits.py",),
    "AWS throttles, refuses, is late": (
        "integration/test_dynamodb_stores.py",
        "functional/test_gacounts_outages.py",
        "integration/test_cold_table.py::test_an_answer_outlives_its_time_by_no_more_than_the_clocks_differ",
        "integration/test_cold_table.py::test_a_process_asks_again_for_an_answer_of_the_future_after_a_minute",
        "integration/test_cold_table.py::test_after_a_clock_is_set_back_an_answer_is_asked_for_again",
        "integration/test_cold_table.py::test_no_turn_is_lost_between_clocks_and_their_order_is_that_of_the_clocks",
        "integration/test_secrets.py::test_a_manager_whose_clock_is_an_hour_ahead_of_the_function_s",
        "integration/test_secrets.py::test_a_clock_that_is_set_back_keeps_no_key_for_longer",
        "integration/test_secrets.py::test_while_no_new_key_can_be_read_the_one_of_before_serves",
    ),
    "a vendor's model or embedder fails": (
        "integration/test_openai_vendors.py",
        "integration/test_openai_stream.py",
        "integration/test_openai_chat.py",
    ),
    "a snapshot is restored many times": ("functional/test_snapshot.py",),
    "rights beyond what is called": (
        "integration/test_dynamodb_stores.py::test_the_actions_that_the_policy_grants_are_those_that_are_used",
        "infra/test_rights.py",
    ),
    "a dependency turns bad": ("infra/test_supply_chain.py",),
    "a budget of time or work runs out": ("functional/test_llm_failures.py",),
    "a crawl is led to private addresses": ("documents/crawl/test_networks.py", "documents/crawl/test_crawl.py"),
    "another site's page calls the local server": ("unit/serve/test_wsgi.py", "browser/test_other_sites.py"),
    "links that no document gave": ("attacks/test_completions.py", "attacks/test_streamed.py"),
    "instructions in documents": ("attacks/test_planted.py",),
    "labels and citations are forged": ("attacks/test_forged.py",),
    "a false statement in the passage's own words": ("evaluation/test_support.py",),
}
"""From a row's name to paths below tests/, whole files or ``file::test`` for all cases of that test.

A row without a path is not tried; docs/evidence/faults.md says so.
"""


def row_of(nodeid: str) -> str | None:
    """The row that the test of ``nodeid`` stands behind; None for most tests."""
    place = nodeid.removeprefix("tests/").split("[", 1)[0]
    for row, paths in ROWS.items():
        if any(place == path or place.startswith(f"{path}::") for path in paths):
            return row
    return None
