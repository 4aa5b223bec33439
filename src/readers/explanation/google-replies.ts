import type { ReplyEntry } from './reply-entry.ts'

const googleErrors = 'https://support.google.com/a/answer/3726730'
const googleRules = 'https://support.google.com/a/answer/81126'

const rateStatus = /^[45]\.7\.28$/

/**
 * Google, by "Gmail SMTP errors and codes" (support.google.com/a/answer/3726730, 2026-02-15) and "Email sender guidelines"
 * (support.google.com/a/answer/81126, 2026-03-21). 4yz and 5yz come with the same words.
 */
export const google: ReplyEntry[] = [
  // After those that are about our address, the guidelines want nothing for ten minutes.
  // "Gmail has detected an unusual rate of unsolicited mail originating from your IP Netblock", "… from your DKIM domain", "… SPF domain".
  {
    id: 'google-netblock',
    words: /unusual (?:rate|amount) of .{0,50}from your IP netblock/i,
    cause: 'reputation',
    effect: 'rest_address',
    stopMinutes: 10,
    ownStatus: rateStatus,
    page: googleRules,
  },
  {
    id: 'google-domain-rate',
    words: /unusual (?:rate|amount) of .{0,80}(?:DKIM|SPF) domain/i,
    cause: 'domain_rate',
    effect: 'pause_domain',
    page: googleRules,
  },
  {
    id: 'google-links',
    words: /unusual (?:rate|amount) of .{0,80}URL domains?/i,
    cause: 'content_rejected',
    effect: 'pause_domain',
    page: googleRules,
  },
  {
    id: 'google-copies',
    words: /unusual (?:rate|amount) of .{0,60}same message-?id|quota for sending messages that have the same/i,
    cause: 'message_format',
    page: googleRules,
  },
  {
    id: 'google-ip-rate',
    words: /unusual (?:rate|amount) of (?:unsolicited )?(?:mail|email|e-mail|messages?)|UnsolicitedRateLimitError|UnsolicitedIPError/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    stopMinutes: 10,
    ownStatus: rateStatus,
    page: googleRules,
  },
  {
    id: 'google-direct',
    words: /IP you.?re using to send e?mail is not authorized|p=NotAuthorizedError/i,
    cause: 'dynamic_address',
    effect: 'rest_address',
    page: googleErrors,
  },
  {
    id: 'google-ip-reputation',
    words: /very low reputation of the sending IP/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: googleRules,
  },
  {
    id: 'google-domain-reputation',
    words: /very low reputation of the sending domain/i,
    cause: 'domain_reputation',
    effect: 'pause_domain',
    page: googleRules,
  },
  {
    id: 'google-content',
    words: /suspicious due to the nature of the content|likely unsolicited e?mail|p=UnsolicitedMessageError/i,
    cause: 'content_rejected',
    page: googleRules,
  },
  {
    id: 'google-attachment',
    words: /potential security issue|illegal attachment|p=BlockedMessage/i,
    cause: 'content_rejected',
    page: 'https://support.google.com/mail/answer/6590',
  },
  // Rejected in the recipient's Workspace: an allow list, and rules ("gcdp").
  {
    id: 'google-workspace-rule',
    words: /IP not in (?:white|allow)list for RCPT domain|policy that prohibit(?:s|ed) the e?mail|email policy\b.{0,20}gcdp|- gcdp\b/i,
    cause: 'recipient_policy',
  },
  {
    id: 'google-tls-required',
    words: /TLS required for RCPT domain|not using a TLS connection|sent over a (?:secure )?TLS connection/i,
    cause: 'plain_text',
    page: googleRules,
  },
  // "451 4.7.26": there is a DMARC policy, and the DNS did not answer.
  {
    id: 'google-dmarc-dns',
    provider: 'google',
    status: /^4\.7\.26$/,
    words: /(?:temporar|transient|DNS).{0,80}(?:fail|error|resol)|(?:fail|error).{0,60}DNS/i,
    cause: 'busy',
    page: googleErrors,
  },
  {
    id: 'google-recipient-rate',
    words: /receiving e?mail (?:at a rate|too quickly)|p=(?:ReceivingRate|RcptTooFast)/i,
    cause: 'recipient_rate',
  },
  {
    id: 'google-relay-limit',
    words: /(?:daily|peak) (?:user sending|SMTP relay(?: sending)?|sending) (?:limit|quota)|p=DailyLimit/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: googleErrors,
  },
  {
    id: 'google-user-rate',
    provider: 'google',
    words: /this (?:e?mail|message) has been rate limited\. |email quota exceeded/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: googleErrors,
  },
  // The support page: a sign of too much of it from one host, seen at EHLO.
  {
    id: 'google-closing',
    provider: 'google',
    words: /try again later, closing connection/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: googleErrors,
  },
  {
    id: 'google-relay',
    words:
      /mail relay denied .{0,40}(?:invalid credentials|the sending e?mail account)|invalid credentials for relay|email sending denied/i,
    cause: 'login',
    page: googleErrors,
  },
  {
    id: 'google-busy',
    provider: 'google',
    words: /server busy|temporary system problem|temporarily rejected (?:this )?message|multiple destination domains|domain policy size/i,
    cause: 'busy',
  },
]
