-- average_precision(relevant, score, n_positives): an aggregate for GROUP BY with the numbers of apframe.average_precision.
--
-- It is one macro, because a macro that calls another fails once its file is attached to another database. Names inside it
-- start with _ap_, so that columns of a query keep their meaning there. Two places are filled in from
-- apframe/metrics/definitions.py: the names of the definitions that SQL knows (NAMES), and a line for each of them (CASES):
-- WHEN 'name' THEN the share of the recall axis that _ap_k of _ap.n true positives cover.
CREATE MACRO average_precision(relevant, score, n_positives, definition := 'step', then_by := NULL) AS
list_transform(
    [{
        n: max(n_positives)::DOUBLE,
        least_n: min(n_positives)::DOUBLE,
        has_nan_relevance: bool_or(isnan(relevant::DOUBLE)),
        last_score: max(score)::VARCHAR,  -- NaN is the largest of all to DuckDB, also inside a row(...)
        -- the ranks of the positives in the list: best score first, then as then_by says, negatives before positives
        ranks: coalesce(list_filter(
            list_transform(
                list(coalesce(relevant::DOUBLE > 0, false)
                     ORDER BY score DESC, row(then_by), coalesce(relevant::DOUBLE > 0, false)) FILTER (score IS NOT NULL),
                lambda _ap_is_positive, _ap_rank: CASE WHEN _ap_is_positive THEN _ap_rank END),
            lambda _ap_rank: _ap_rank IS NOT NULL), [])
    }],
    lambda _ap: CASE
        WHEN coalesce(definition NOT IN (/* NAMES */), true) THEN
            error(concat('no definition ', definition, ' in SQL; there are ', array_to_string([/* NAMES */], ', ')))
        WHEN _ap.least_n < _ap.n THEN
            error('n_positives has several values in one group; give one, all positives that the group has')
        WHEN NOT (isfinite(_ap.n) AND _ap.n = floor(_ap.n) AND _ap.n >= 0) THEN
            error('n_positives is a whole number, 0 or more; there are others among those given')
        WHEN _ap.has_nan_relevance THEN
            error('the relevance is NaN in some rows; correct or remove them')
        WHEN regexp_matches(_ap.last_score, '^\(?-?nan(,|\)|$)') THEN
            error('the score is NaN in some rows; correct or remove them')
        WHEN len(_ap.ranks) > _ap.n THEN
            error(concat('n_positives is smaller than the positives in the list (', _ap.n::BIGINT, ' given where ',
                         len(_ap.ranks), ' are present); count all positives there are, retrieved or not'))
        WHEN _ap.n > 0 AND len(_ap.ranks) = 0 THEN 0
        WHEN _ap.n > 0 AND definition = 'step' THEN
            -- the precision as observed, k / rank, averaged over all positives
            list_sum(list_transform(_ap.ranks, lambda _ap_rank, _ap_k: _ap_k / _ap_rank)) / _ap.n
        WHEN _ap.n > 0 THEN
            -- The sum of the envelope times what each positive adds to the share of the recall axis that is reached. Taken by
            -- parts, from the last positive to the first, that is the share times what each adds to the envelope: one fold.
            list_reduce(
                list_reverse(list_transform(_ap.ranks, lambda _ap_rank, _ap_k: {
                    best: _ap_k / _ap_rank,
                    share: (CASE definition /* CASES */ END)::DOUBLE,
                    total: 0::DOUBLE
                })),
                lambda _ap_later, _ap_point: {
                    best: greatest(_ap_later.best, _ap_point.best),
                    share: _ap_point.share,
                    total: _ap_later.total
                           + (greatest(_ap_later.best, _ap_point.best) - _ap_later.best) * _ap_point.share
                },
                {best: 0::DOUBLE, share: 0::DOUBLE, total: 0::DOUBLE}
            ).total
        END
)[1]
