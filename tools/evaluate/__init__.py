"""Measure a service on questions with known answers. The package does not depend on the command line.

question_files.read_questions          a file of one's own labelled questions; also BEIR's queries and judgements
run.asker, run.ask_all                 ask a service each of them; results are saved for the next run
judge.judge, judge.score_run           judge each result by its labels; score a run on a corpus in BEIR's layout
figures.measure                        figures with their likely ranges
figures.compare_figures                their change since an older run
figures.broken_limits                  the figures outside their limits
report.tables, page.page               the whole result for people; report.report_fields for programs
drafting.drafter                       draft questions from documents, for a person to correct
fitting.fit_calibration                fit a bar and a confidence to labelled questions
"""
