import { spamhausPage, type ReplyEntry } from './reply-entry.ts'

const yahooErrors = 'https://senders.yahooinc.com/smtp-error-codes/'

/** Yahoo, AOL, AT&T, Cox: senders.yahooinc.com/smtp-error-codes (2026-02-15), help.yahoo.com SLN3433; Yahoo Japan apart. */
export const yahoo: ReplyEntry[] = [
  {
    id: 'yahoo-spamhaus',
    words: /\[?\b(?:BL2[13]|TSS07)\b/,
    cause: 'reputation',
    effect: 'rest_address',
    page: spamhausPage,
  },
  {
    id: 'yahoo-permanent',
    words: /\b(?:TS03|TSS09|TSS11)\b|will be permanently deferred/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://senders.yahooinc.com/contact/',
  },
  {
    id: 'yahoo-volume',
    words:
      /\b(?:TSS?0[1245]|IPTS0[45])\b|temporarily deferred due to (?:unexpected volume|user complaints|excessive)|messages? from .{0,40}temporarily deferred/i,
    cause: 'sending_rate',
    effect: 'rest_address',
    page: yahooErrors,
  },
  {
    id: 'yahoo-connection-full',
    words: /max message per connection/i,
    cause: 'sending_rate',
    effect: 'shorter_connections',
    page: yahooErrors,
  },
  {
    id: 'yahoo-unknown-users',
    words: /\bVS1-(?:IP|MF)\b|excessive unknown recipients/i,
    cause: 'unknown_recipients',
    effect: 'slow_down',
    page: yahooErrors,
  },
  { id: 'yahoo-content', words: /\bPH01\b/, cause: 'content_rejected', page: yahooErrors },
  {
    id: 'yahoo-authentication',
    words: /\bAU0\d\b/,
    cause: 'authentication',
    effect: 'pause_domain',
    page: yahooErrors,
  },
  {
    id: 'yahoo-policy-reasons',
    provider: 'yahoo',
    words: /not accepted for policy reasons/i,
    cause: 'authentication',
    effect: 'pause_domain',
    page: yahooErrors,
  },
  {
    id: 'yahoo-format',
    provider: 'yahoo',
    words: /header (?:size|too)|date .{0,40}(?:range|future|past)|forbidden characters?/i,
    cause: 'message_format',
    page: yahooErrors,
  },
  {
    id: 'yahoo-sender-domain',
    words: /unresolvable RFC.?5321 from|(?:mail from|from) domain .{0,60}unresolv/i,
    cause: 'sender_address',
    page: yahooErrors,
  },
  { id: 'yahoo-busy', words: /resources (?:temporarily unavailable|restricted)/i, cause: 'busy', effect: 'slow_down' },
  {
    id: 'yahoo-no-user',
    words: /delivery error: dd|user doesn.?t have a .{0,40} account|mailbox not found|mailbox is disabled/i,
    cause: 'invalid_recipient',
  },
  {
    id: 'yahoo-deferred',
    provider: 'yahoo',
    words: /message temporarily deferred/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: yahooErrors,
  },
  { id: 'yahoo-japan-rate', words: /\bVS98-IP\d\b/i, cause: 'sending_rate', effect: 'slow_down' },
]
