-- One account's breaker, for all workers: take a report, say what to do. It opens when
-- too many of the calls of the last window went badly; open, it lets one probe through
-- at a time; some good ones in a row close it, a bad one keeps it open for twice as long.
--
-- KEYS: the account's board.
-- ARGV: calls that went well, that went badly, how the reporter's own probe went ('good',
--   'bad', ''), whether it wants to probe ('1'), its name, then the policy: window (us),
--   least calls, failure rate, recovery (us), longest recovery (us), how long a probe may
--   take (us), good probes that close it.
-- Returns: whether it is open (1), whether the reporter may probe (1), us to ask again.

local BOARD = KEYS[1]
local good, bad = tonumber(ARGV[1]), tonumber(ARGV[2])
local went, wants_probe, name = ARGV[3], ARGV[4] == '1', ARGV[5]
local window, least, rate = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local recovery, longest = tonumber(ARGV[9]), tonumber(ARGV[10])
local probe_life, enough = tonumber(ARGV[11]), tonumber(ARGV[12])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function number(field) return tonumber(redis.call('HGET', BOARD, field) or 0) end

local function set(...)
  redis.call('HSET', BOARD, ...)
  -- Whoever opened it may be gone; the next to call finds out by himself.
  redis.call('PEXPIRE', BOARD, math.ceil((2 * window + 4 * longest) / 1000))
end

local function open(openings)
  local lasts = math.min(recovery * 2 ^ (openings - 1), longest)
  redis.call('DEL', BOARD)
  set('openings', openings, 'until', string.format('%.0f', now + lasts))
  return {1, 0, lasts}
end

local openings = number('openings')
if openings > 0 then
  local is_ours = redis.call('HGET', BOARD, 'prober') == name
  if went == 'bad' and is_ours then return open(openings + 1) end
  if went == 'good' and is_ours then
    if redis.call('HINCRBY', BOARD, 'recovered', 1) >= enough then
      redis.call('DEL', BOARD)
      return {0, 0, 0}
    end
    redis.call('HDEL', BOARD, 'prober', 'probing_until')
  end
  local free_at = math.max(number('until'), number('probing_until'))
  -- Nobody waits for a clock that was set back to come round again.
  if free_at > now + longest + probe_life then free_at = now end
  if free_at > now then return {1, 0, free_at - now} end
  if not wants_probe then return {1, 0, 0} end
  set('prober', name, 'probing_until', string.format('%.0f', now + probe_life))
  return {1, 1, probe_life}
end

-- The window is two halves; the older one goes as a whole.
local half = math.floor(now / (window / 2))
local age = half - number('half')
local old_good, old_bad = 0, 0
if age == 0 then
  good, bad = good + number('good'), bad + number('bad')
  old_good, old_bad = number('old_good'), number('old_bad')
elseif age == 1 then
  old_good, old_bad = number('good'), number('bad')
end
local calls = good + bad + old_good + old_bad
if calls >= least and bad + old_bad >= rate * calls then return open(1) end
set('half', half, 'good', good, 'bad', bad, 'old_good', old_good, 'old_bad', old_bad)
return {0, 0, 0}
