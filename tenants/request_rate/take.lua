-- Take tokens out of a bucket, on this server's clock. It is GCRA: the key holds the time,
-- in microseconds, at which the bucket will be full again.
--
-- KEYS: the bucket. ARGV: how many, the us in which one trickles in, how many it holds.
-- Returns: how many were taken, how many are left, how long to wait for more (us).

local SECOND = 1000000
local clock = redis.call('TIME')
local now = clock[1] * SECOND + clock[2]
local wanted, each, size = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
-- Nobody waits for a clock that was set back to come round again.
if full > now + size * each + SECOND then full = now end
-- A little more than nothing: each is a fraction, and a full bucket is to hold its size.
local left = math.max(math.floor(size - (full - now) / each + 0.001), 0)
local taken = math.min(wanted, left)
if taken < 1 then
  return {0, 0, math.ceil(full + (wanted - size) * each - now)}
end

full = full + taken * each
local life = math.ceil((full - now) / 1000) + 1000
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', life)
return {taken, left - taken, 0}
