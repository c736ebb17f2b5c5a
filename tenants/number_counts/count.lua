#!lua
-- Count a message under every rule that it falls under, or under none, on this server's
-- clock. Its first line has a full server refuse all of it: without that, what it forgets
-- first would let it write on. A key holds the moments (us) of the last messages, never more than its limit.
--
-- KEYS: one for each rule. ARGV: a name for the message, then for each rule its window
-- (us), its limit, and whether it refuses (1) or only watches (0).
-- Returns: the rule that refuses longest (0: none), for how long (us), and how many the
-- last rule has counted, this message included where it was let through.

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local refused, wait, counted = 0, 0, 0
local full = {}

for i, key in ipairs(KEYS) do
  local window, limit = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  counted = redis.call('ZCARD', key)
  full[i] = counted >= limit
  if full[i] and ARGV[3 * i + 1] == '1' then
    -- Where the limit was lowered, more than one has to go first.
    local last = redis.call('ZRANGE', key, counted - limit, counted - limit, 'WITHSCORES')
    local free_in = tonumber(last[2]) + window - now
    if free_in >= wait then refused, wait = i, free_in end
  end
end
if refused > 0 then return {refused, wait, counted} end

for i, key in ipairs(KEYS) do
  if full[i] then redis.call('ZPOPMIN', key) end
  redis.call('ZADD', key, now, ARGV[1])
  redis.call('PEXPIRE', key, math.ceil(ARGV[3 * i - 1] / 1000))
end
return {0, 0, counted + 1}
