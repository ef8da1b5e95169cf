"""Kernels that shrink, score and bound one level of a lean search.

``need`` is ``(target + 1) << shift``, what a row that is heavier than the target scores at least.  All that is dropped
from a level is part of no such row.  The bound of a level is ``COMMITTED`` and the sum of each attribute's best score;
scores, shares and bounds lie between 0 and the scaled total, below 2**62, so that no difference of two overflows.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from parcomp.bits import bit_of, has_bit
from parcomp.jit import inlined, inner_kernel, kernel
from parcomp.overlap.lean import layout

__all__ = ["compact", "drop_values", "fill_lanes", "rescore", "sweep", "take_value"]

_NONE = np.uint64(0)


@kernel
def fill_lanes(masks, words, lanes):
    """Write the lanes of each mask."""
    for p in range(len(masks)):
        for j in range(masks[p, layout.SIZE]):
            word = words[masks[p, layout.WORD_AT] + (j >> 6)]
            lanes[masks[p, layout.LANE_AT] + j] = -np.int64(has_bit(word, j))


@inner_kernel
def compact(problem, stack, source, target):
    """Write what the live values of level ``target`` leave of the queries of ``source``, perhaps the same; the work.

    A query with a slot that accepts no live value is satisfied by no row of the box and left out, as is one of the same
    level that is flagged.  A slot that accepts all live values constrains nothing: its multiplier moves to the query's
    other slots, and a query without slots is satisfied by all rows of the box.  What is written comes before what is
    still to be read, so that a level can be compacted in place.
    """
    masks, words = problem.masks, problem.words
    committed = stack.head[source, layout.COMMITTED]
    count = stack.head[source, layout.QUERIES]
    size = 0
    slots = 0
    work = np.int64(count)
    end = stack.first[source, 0]
    for i in range(count):
        begin = end
        end = stack.first[source, i + 1]
        work += 2 * (end - begin)
        kept = slots
        loose = np.int64(0)
        dead = source == target and stack.flag[i] == layout.DEAD
        stack.flag[i] = 0
        for k in range(begin, end):
            p = stack.mask[source, k]
            word_at = masks[p, layout.WORD_AT]
            live_at = masks[p, layout.LIVE_AT]
            meets = _NONE
            misses = _NONE
            for x in range(masks[p, layout.WORDS]):
                live = stack.live[target, live_at + x]
                meets |= live & words[word_at + x]
                misses |= live & ~words[word_at + x]
            if meets == _NONE:
                dead = True
            if misses == _NONE:
                loose += stack.share[source, k]
            else:
                stack.mask[target, slots] = p
                stack.share[target, slots] = stack.share[source, k]
                slots += 1
        if dead:
            slots = kept
        elif slots == kept:
            committed += loose
        else:
            for k in range(kept, slots):
                part = loose // (slots - k)
                stack.share[target, k] += part
                loose -= part
            stack.first[target, size] = kept
            size += 1
    stack.first[target, size] = slots
    stack.head[target, layout.COMMITTED] = committed
    stack.head[target, layout.QUERIES] = size
    return work


@inner_kernel
def take_value(problem, stack, level, attribute, value):
    """Make level + 1 what is left of ``level`` where an attribute has a value; the work."""
    stack.live[level + 1] = stack.live[level]
    stack.live[level + 1, problem.live_at[attribute] : problem.live_at[attribute + 1]] = 0
    stack.live[level + 1, problem.live_at[attribute] + (value >> 6)] = bit_of(value)
    stack.head[level + 1, layout.BRANCH] = -1
    return compact(problem, stack, level, level + 1)


@inner_kernel
def rescore(problem, stack, level):
    """Score all values of a level anew; the scaled bound, and the work."""
    masks, lanes = problem.masks, problem.lanes
    score = stack.score[level]
    attributes = len(problem.value_at) - 1
    for a in range(attributes):
        at = problem.value_at[a]
        live_at = problem.live_at[a]
        for j in range(problem.value_at[a + 1] - at):
            score[at + j] = 0 if has_bit(stack.live[level, live_at + (j >> 6)], j) else layout.LOWEST
    work = 2 * np.int64(len(score))
    for k in range(stack.first[level, stack.head[level, layout.QUERIES]]):
        p = stack.mask[level, k]
        lane = masks[p, layout.LANE_AT]
        at = masks[p, layout.VALUE_AT]
        share = stack.share[level, k]
        for j in range(masks[p, layout.SIZE]):
            score[at + j] += share & lanes[lane + j]
        work += masks[p, layout.SIZE]
    bound = stack.head[level, layout.COMMITTED]
    for a in range(attributes):
        bound += score[problem.value_at[a] : problem.value_at[a + 1]].max()
    return bound, work


@inlined
def _leave_out(problem, stack, level, begin, end):
    """Take the shares of the slots from ``begin`` to ``end`` back from the scores."""
    for k in range(begin, end):
        p = stack.mask[level, k]
        lane = problem.masks[p, layout.LANE_AT]
        at = problem.masks[p, layout.VALUE_AT]
        for j in range(problem.masks[p, layout.SIZE]):
            stack.score[level, at + j] -= stack.share[level, k] & problem.lanes[lane + j]
        stack.share[level, k] = 0


@inlined
def _demand(problem, stack, level, begin, end):
    """Drop the values that the slots from ``begin`` to ``end`` reject."""
    for k in range(begin, end):
        p = stack.mask[level, k]
        lane = problem.masks[p, layout.LANE_AT]
        at = problem.masks[p, layout.VALUE_AT]
        for j in range(problem.masks[p, layout.SIZE]):
            if not problem.lanes[lane + j]:
                stack.score[level, at + j] = layout.LOWEST
        for x in range(problem.masks[p, layout.WORDS]):
            word = problem.words[problem.masks[p, layout.WORD_AT] + x]
            stack.live[level, problem.masks[p, layout.LIVE_AT] + x] &= word


@inlined
def _share_out(room, size, rooms, weight):
    """Turn the room of each slot into its share of ``weight``; the shares sum to it.

    Floats only say who gets how much: what is given out is taken from what is left, and the last of it goes to one.
    """
    left = weight
    if rooms >= weight:
        factor = weight / rooms
        largest = 0
        for k in range(size):
            if room[k] > room[largest]:
                largest = k
        for k in range(size):
            part = min(left, np.int64(room[k] * factor))
            room[k] = part
            left -= part
        room[largest] += left
    else:
        for k in range(size):
            room[k] = min(left, room[k])
            left -= room[k]
        for k in range(size):
            part = left // (size - k)
            room[k] += part
            left -= part


@inner_kernel
def sweep(problem, stack, level, bound, need):
    """Share out the weight of one query after the other so that the bound never rises, and settle queries by the way.

    For a query of weight w, let I be the best score of an attribute among the live values that accept it, O among
    those that reject it, R = I - λ the former without the query, B = max(I, O) and N = max(R, O).

    - A row that satisfies the query scores at most bound - Σ (B - I): it has an accepted value everywhere.  If that is
      less than ``need``, the query is flagged, and not counted any more.
    - A row that does not loses nothing if the query is not counted, so it scores at most bound - Σ (B - N).  If that is
      less than ``need``, the query is demanded: values that it rejects are dropped.
    - Otherwise a share of up to O - R raises the best score of its attribute by nothing, and any other unit of w raises
      the bound by one.  So w is shared out in proportion to max(0, O - R), and what exceeds their sum evenly: of all
      ways to share it out, with the other queries' shares as they are, none gives a smaller bound.

    Returns the bound, the work, and whether anything was settled; it ends early once the bound is below ``need``.
    """
    masks, lanes, score, room = problem.masks, problem.lanes, stack.score[level], stack.room
    share, mask, first = stack.share[level], stack.mask[level], stack.first[level]
    settled = False
    work = np.int64(0)
    end = first[0]
    for i in range(stack.head[level, layout.QUERIES]):
        begin = end
        end = first[i + 1]
        if stack.flag[i]:
            continue
        weight = np.int64(0)
        for k in range(begin, end):
            weight += share[k]
        rooms = 0.0
        missed = False
        all_best = np.int64(0)
        all_inside = np.int64(0)
        all_without = np.int64(0)
        for k in range(begin, end):
            p = mask[k]
            lane = masks[p, layout.LANE_AT]
            at = masks[p, layout.VALUE_AT]
            work += 2 * masks[p, layout.SIZE]
            inside = layout.LOWEST
            outside = layout.LOWEST
            for j in range(masks[p, layout.SIZE]):
                # The score of a value that is left out counts as the lowest; a branch here would be a coin toss.
                accepted = lanes[lane + j]
                inside = max(inside, (score[at + j] & accepted) | (layout.LOWEST & ~accepted))
                outside = max(outside, (score[at + j] & ~accepted) | (layout.LOWEST & accepted))
            best = max(inside, outside)
            if inside < 0:
                # Queries demanded before have left no live value that this one accepts.
                missed = True
                inside = share[k]
            without = inside - share[k]
            all_best += best
            all_inside += inside
            all_without += max(without, outside)
            free = min(outside - without, weight) if outside > without else np.int64(0)
            room[k - begin] = free
            rooms += free
        if missed or bound - (all_best - all_inside) < need:
            stack.flag[i] = layout.DEAD
            settled = True
            _leave_out(problem, stack, level, begin, end)
            bound -= all_best - all_without
        elif bound - (all_best - all_without) < need:
            settled = True
            _demand(problem, stack, level, begin, end)
            bound -= all_best - all_inside
        elif end - begin > 1:
            _share_out(room, end - begin, rooms, weight)
            bound -= all_best
            for k in range(begin, end):
                p = mask[k]
                lane = masks[p, layout.LANE_AT]
                at = masks[p, layout.VALUE_AT]
                change = room[k - begin] - share[k]
                share[k] = room[k - begin]
                best = layout.LOWEST
                for j in range(masks[p, layout.SIZE]):
                    score[at + j] += change & lanes[lane + j]
                    best = max(best, score[at + j])
                bound += best
        if bound < need:
            break
    return bound, work, settled


@inner_kernel
def drop_values(problem, stack, level, slack):
    """Drop the values that score more than ``slack`` below their attribute's best; whether there were any.

    A row with such a value scores less than bound - slack = need.
    """
    dropped = False
    score = stack.score[level]
    for a in range(len(problem.value_at) - 1):
        at = problem.value_at[a]
        live_at = problem.live_at[a]
        size = problem.value_at[a + 1] - at
        best = layout.LOWEST
        for j in range(size):
            best = max(best, score[at + j])
        for j in range(size):
            if score[at + j] < best - slack and has_bit(stack.live[level, live_at + (j >> 6)], j):
                stack.live[level, live_at + (j >> 6)] &= ~bit_of(j)
                dropped = True
    return dropped
