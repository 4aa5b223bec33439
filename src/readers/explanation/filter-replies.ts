import type { ReplyEntry } from './reply-entry.ts'

const cloudmark = 'https://csi.cloudmark.com/en/reset/'

/** Filters in front of mailboxes of firms: their manuals, and the texts that smtp.codes and zone-mta know. */
export const filters: ReplyEntry[] = [
  {
    id: 'mimecast-reputation',
    words: /poor reputation sender/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://csi.mimecast.org/',
  },
  {
    id: 'mimecast-rule',
    provider: 'mimecast',
    words: /administrative prohibition|anti-?spoofing|security polic|envelope blocked|header.based/i,
    cause: 'recipient_policy',
    page: 'https://community.mimecast.com/s/article/email-security-cloud-gateway-mimecast-smtp-error-codes',
  },
  { id: 'mimecast-greylist', words: /internal resources? (?:is |are )?temporarily unavailable/i, cause: 'greylisting' },
  {
    id: 'proofpoint-blocked',
    words: /ipcheck\.proofpoint\.com|support\.proofpoint\.com\/(?:dnsbl|rbl)/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://ipcheck.proofpoint.com/',
  },
  {
    id: 'cloudmark-blocked',
    words: /csi\.cloudmark\.com|blocked using.{0,40}cloudmark|prs\.proofpoint/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: cloudmark,
  },
  { id: 'proofpoint-verifies', words: /verification in progress/i, cause: 'greylisting' },
  {
    id: 'barracuda-listed',
    words: /barracudacentral|barracuda ?networks\.com\/reputation|barracuda reputation|\bb\.barracuda/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://www.barracudacentral.org/rbl/removal-request',
  },
  {
    id: 'symantec-listed',
    words: /ipremoval\.sms\.symantec|sms\.symantec\.com/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://ipremoval.sms.symantec.com/',
  },
  // success.trendmicro.com: what "Recipient address rejected" may be followed by
  { id: 'trend-rule', words: /recipient address rejected: (?:BLOCK-(?:SEND-?ER|RCPT)|ERS-Customized-Block)/i, cause: 'recipient_policy' },
  { id: 'trend-domain', words: /recipient address rejected: NO-DOMAIN/i, cause: 'relay_denied' },
  { id: 'zoho-rule', words: /MailPolicy violation/i, cause: 'recipient_policy' },
  {
    id: 'trend-listed',
    words: /ers\.trendmicro|trendmicro\.com\/ers/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://servicecentral.trendmicro.com/ers/ip-lookup',
  },
  { id: 'cisco-access', words: /your access to (?:this|submit) .{0,60}has been rejected/i, cause: 'reputation', effect: 'rest_address' },
  { id: 'barracuda-content', words: /permanent failure for one or more recipients \(.{0,120}:blocked\)/i, cause: 'content_rejected' },
  {
    id: 'cisco-reputation',
    words: /senderbase|talosintelligence|poor (?:talos|senderbase)/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'https://talosintelligence.com/reputation_center',
  },
]

/** Relays that we hand mail to: Amazon SES ("sending quotas errors"), and logins anywhere. */
export const relays: ReplyEntry[] = [
  {
    id: 'ses-throttled',
    words: /throttling failure|maximum sending rate exceeded|daily (?:message )?quota exceeded/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: 'https://docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html',
  },
  {
    id: 'ses-unverified',
    words: /email address is not verified|identities failed the check/i,
    cause: 'sender_address',
    page: 'https://docs.aws.amazon.com/ses/latest/dg/verify-addresses-and-domains.html',
  },
]
