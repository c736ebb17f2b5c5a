-- Book permits, all limits or none, on this server's clock. Every limit is GCRA: its key
-- holds the time, in microseconds, from which its next permit is free.
--
-- KEYS: known, members, starving, then the limits: pace, reserve, any others.
-- ARGV: who asks, how many, how far ahead (us), is it HIGH ('1'), then for each limit
--   the us of one permit. HIGH keeps to its reserve, what the other classes' floors
--   leave of the pace, only while one of them starves; theirs is that floor.
-- Returns: how many were booked, from when, now, how long to wait for more, members.

local KNOWN, MEMBERS, STARVING, PACE, RESERVE = 1, 2, 3, 4, 5
local SECOND, STARVING_LIFE, KNOWN_LIFE = 1000000, 500, 86400
local clock = redis.call('TIME')
local now = clock[1] * SECOND + clock[2]
local ahead, is_high = tonumber(ARGV[3]), ARGV[4] == '1'

-- Members of the future are from before the clock was set back.
redis.call('ZREMRANGEBYSCORE', KEYS[MEMBERS], '-inf', now - 2 * SECOND)
redis.call('ZREMRANGEBYSCORE', KEYS[MEMBERS], now + SECOND, '+inf')
redis.call('ZADD', KEYS[MEMBERS], now, ARGV[1])
redis.call('PEXPIRE', KEYS[MEMBERS], 10000)
local members = redis.call('ZCARD', KEYS[MEMBERS])

local free, each = {}, {}
for i = PACE, #KEYS do
  each[i] = tonumber(ARGV[i + 1])
  free[i] = math.max(tonumber(redis.call('GET', KEYS[i]) or now), now)
  -- Nobody waits for a clock that was set back to come round again.
  if free[i] > now + SECOND + 2 * each[i] then free[i] = now end
end
-- A book that was lost: what was booked in it is still to come.
if redis.call('EXPIRE', KEYS[KNOWN], KNOWN_LIFE) == 0 then
  redis.call('SET', KEYS[KNOWN], '1', 'EX', KNOWN_LIFE)
  free[PACE] = math.max(free[PACE], now + SECOND / 5)
  redis.call('SET', KEYS[PACE], string.format('%.0f', free[PACE]), 'PX', 1000)
end

-- A share for each member, or the first to ask would hold all that is ahead.
local share = math.max(math.floor(ahead / each[PACE] / members), 1)
local wanted = math.min(tonumber(ARGV[2]), share)
local number, wait = wanted, each[PACE]
local is_starving = redis.call('EXISTS', KEYS[STARVING]) == 1
local is_below_floor = not is_high and free[RESERVE] <= now
for i = PACE, #KEYS do
  if i ~= RESERVE or (is_high and is_starving) then
    -- Who starves stands in line with HIGH.
    local is_let_in = i == PACE and is_starving and is_below_floor
    local last = now + (is_let_in and 2 * ahead or ahead)
    number = math.min(number, math.floor((last - free[i]) / each[i]) + 1)
    -- Some at once rather than one by one, but no more than can gather.
    wait = math.max(wait, free[i] - last + math.min((wanted - 1) * each[i], ahead / 2))
  end
end
if number < 1 then
  if is_below_floor and free[PACE] > now + ahead then
    redis.call('SET', KEYS[STARVING], '1', 'PX', STARVING_LIFE)
  end
  return {0, 0, now, math.ceil(wait), members}
end

local start = free[PACE]
for i = PACE, #KEYS do
  local ends = free[i] + number * each[i]
  -- What HIGH took while nobody starved is not held against it, nor what a class had
  -- beyond its floor for longer than a second.
  if i == RESERVE and not is_high then
    ends = math.min(ends, now + math.max(SECOND, each[i]))
  elseif i == RESERVE and not is_starving then
    ends = math.min(ends, now + ahead)
  end
  local life = math.ceil((ends - now) / 1000) + 1000
  redis.call('SET', KEYS[i], string.format('%.0f', ends), 'PX', life)
end
return {number, start, now, 0, members}
