import { spamhausPage, type ReplyEntry } from './reply-entry.ts'

const outlookErrors = 'https://sendersupport.olc.protection.outlook.com/pm/troubleshooting.aspx'
const outlookForm = 'https://olcsupport.office.com/'
const microsoftDelist = 'https://sender.office.com/'
const microsoftErrors =
  'https://learn.microsoft.com/exchange/mail-flow-best-practices/non-delivery-reports-in-exchange-online/non-delivery-reports-in-exchange-online'
const microsoftThrottling =
  'https://learn.microsoft.com/troubleshoot/exchange/email-delivery/ndr/fix-error-code-451-4-7-500-699-asxxx-in-exchange-online'
const microsoftLogin = 'https://learn.microsoft.com/exchange/clients-and-mobile-in-exchange-online/authenticated-client-smtp-submission'

/**
 * Microsoft. Outlook.com: sendersupport.olc.protection.outlook.com/pm/troubleshooting (2026-06-15). Exchange Online: the article on
 * non-delivery reports, and "451 4.7.500-699 (ASxxx)", "550 5.7.515" among the support articles (learn.microsoft.com).
 */
export const microsoft: ReplyEntry[] = [
  // Before all others, because these replies name blocklists, IP addresses and rules, too.
  { id: 'microsoft-customer-list', words: /customer block list|AS16012607/i, cause: 'recipient_policy' },
  {
    id: 'microsoft-unknown-at-edge',
    status: /^5\.4\.1$/,
    words: /recipient address rejected: access denied|AS\(?20180628\d/i,
    cause: 'invalid_recipient',
  },
  // A filter in front of Exchange Online passes it on in words of its own.
  { id: 'microsoft-unknown-behind', words: /\b5\.4\.1 .{0,80}recipient address rejected: access denied/i, cause: 'invalid_recipient' },
  { id: 'microsoft-mailbox-unavailable', words: /S2017062302/i, cause: 'invalid_recipient' },
  {
    id: 'outlook-authentication',
    words: /required authentication level|does ?n[o']t meet the required authentication/i,
    cause: 'authentication',
    effect: 'pause_domain',
    page: 'https://learn.microsoft.com/troubleshoot/exchange/email-delivery/ndr/fix-error-code-550-5-7-515-in-outlook-com',
  },
  {
    id: 'microsoft-dmarc',
    words: /does not pass DMARC verification|sending domain .{0,100}DMARC policy of/i,
    cause: 'authentication',
    page: microsoftErrors,
  },
  // "451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation … (S775)".
  {
    id: 'outlook-reputation-rate',
    words: /temporarily rate limited due to IP reputation|\(S77\d\)/i,
    cause: 'reputation',
    effect: 'slow_down',
    page: outlookErrors,
  },
  {
    id: 'outlook-network-block',
    words: /part of their network is on our block ?list|\(S31[45]0\)|messages from .{0,60}weren.?t sent/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: outlookForm,
  },
  { id: 'outlook-rate', words: /\bRP-00[12]\b/, cause: 'sending_rate', effect: 'slow_down', page: outlookErrors },
  {
    id: 'outlook-connections',
    words: /\bRP-003\b|exceeded the maximum number of connections|max concurrent connections\. IB007/i,
    cause: 'sending_rate',
    effect: 'fewer_connections',
    page: outlookErrors,
  },
  {
    id: 'outlook-unknown-users',
    words: /\bSC-002\b|namespace mining/i,
    cause: 'unknown_recipients',
    effect: 'rest_address',
    page: outlookErrors,
  },
  { id: 'outlook-open-proxy', words: /\bSC-003\b|\bDY-002\b/, cause: 'reputation', effect: 'rest_address', page: outlookErrors },
  { id: 'outlook-complaints', words: /\bSC-004\b/, cause: 'reputation', effect: 'rest_address', page: outlookForm },
  { id: 'outlook-dynamic', words: /\bDY-001\b/, cause: 'dynamic_address', effect: 'rest_address', page: outlookErrors },
  { id: 'outlook-spamhaus', words: /\bOU-001\b/, cause: 'reputation', effect: 'rest_address', page: spamhausPage },
  { id: 'outlook-content', words: /\bSC-001\b|\bOU-002\b/, cause: 'content_rejected', page: outlookErrors },
  // S8001 and S8002 are about names: of EHLO, and of MAIL FROM.
  {
    id: 'microsoft-domain-listed',
    words: /\(S800[12]\)|(?:helo|mailfrom|mail from) domain.{0,60}spamhaus/i,
    cause: 'domain_reputation',
    effect: 'pause_domain',
    page: spamhausPage,
  },
  {
    id: 'microsoft-spamhaus',
    words: /blocked using spamhaus|AS16012611|AS\(?1430\)?/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: spamhausPage,
  },
  {
    id: 'microsoft-ip-banned',
    words: /banned sending IP/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: microsoftDelist,
  },
  {
    id: 'microsoft-ip-banned-by-mail',
    status: /^5\.7\.511$/,
    words: /banned sender/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'mailto:delist@microsoft.com',
  },
  {
    id: 'microsoft-ip-traffic',
    status: /^5\.7\.708$/,
    words: /traffic not accepted from this IP/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: microsoftErrors,
  },
  {
    id: 'microsoft-ipv6-rate',
    status: /^5\.7\.508$/,
    words: /exceeded allowed limits/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: microsoftErrors,
  },
  { id: 'microsoft-no-ipv6', words: /does not accept email over IPv6/i, cause: 'ipv6', page: microsoftErrors },
  { id: 'microsoft-helo', status: /^5\.7\.506$/, words: /bad HELO/i, cause: 'host_name', page: microsoftErrors },
  { id: 'microsoft-format', status: /^5\.7\.512$/, words: /RFC ?5322/i, cause: 'message_format', page: microsoftErrors },
  {
    id: 'microsoft-recipient-refuses',
    words: /rejected by recipient|banned recipient|recipient address is banned/i,
    cause: 'recipient_policy',
  },
  {
    id: 'microsoft-sender-banned',
    words:
      /bad outbound sender|access denied, (?:spam abuse detected|banned sender)|tenant has exceeded threshold|5\.7\.80\d.{0,60}banned/i,
    cause: 'domain_reputation',
    effect: 'pause_domain',
    page: microsoftErrors,
  },
  {
    id: 'microsoft-tenant-limit',
    words:
      /(?:tenant|organization).{0,60}(?:exceeded|reached) .{0,60}(?:limit|quota)|reached (?:your|its) daily limit|\bTERRL\b|external recipient rate limit/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: microsoftErrors,
  },
  {
    id: 'microsoft-rule',
    words:
      /RESOLVER\.RST\.(?:SenderNotAuthenticated|SenderNotInAllowed|RestrictedTo|AuthRequired|NotAuthorized|SendersNot)|SenderNotAuthenticatedForGroup|TRANSPORT\.RULES\.RejectMessage|rejected by (?:an )?organi[sz]ation.{0,10} policy|TenantInboundAttribution|does not allow external forwarding|only accepts (?:mail|messages|email) from (?:people|senders) in/i,
    cause: 'recipient_policy',
  },
  {
    id: 'microsoft-recipient-hour',
    words:
      /(?:exceeded their limit|limit).{0,40}(?:receive per hour|receive limit)|per hour message receive limit|can send to this recipient per hour|recipient thread limit|message receive rate/i,
    cause: 'recipient_rate',
  },
  { id: 'microsoft-queue-quota', words: /organization queue quota exceeded/i, cause: 'recipient_rate' },
  {
    id: 'microsoft-forest-connections',
    words: /concurrent connections.{0,60}(?:exceed|limit)|(?:exceed|limit).{0,60}concurrent connections/i,
    cause: 'sending_rate',
    effect: 'fewer_connections',
  },
  {
    id: 'microsoft-throttled',
    status: /^4\.7\.(?:[56]\d\d|8[5-9]\d)$/,
    words: /server busy|access denied|try again later|throttl/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: microsoftThrottling,
  },
  { id: 'microsoft-region', words: /wrong (?:office 365|microsoft 365|exchange online) region|ATTR3[58]|multiple regions/i, cause: 'busy' },
  {
    id: 'microsoft-internal',
    words:
      /temporary server error|\bPRX\d(?![-\w]{0,63}\.\w)|STOREDRV\.Deliver.{0,80}(?:MapiExceptionRpc|MailboxOffline|MdbOffline|Cannot ?Open|busy)|insufficient system resources/i,
    cause: 'busy',
  },
  // Logins at smtp.office365.com. "Basic authentication is not supported" is one of the meanings of 5.7.30.
  {
    id: 'microsoft-login',
    words:
      /basic authentication is (?:not supported|disabled)|SmtpClientAuthentication is disabled|TenantAttribution; Relay Access Denied|client (?:was )?not authenticated|authentication unsuccessful/i,
    cause: 'login',
    page: microsoftLogin,
  },
  { id: 'microsoft-send-as', words: /SendAsDenied|not have permissions to send as/i, cause: 'sender_address', page: microsoftErrors },
  // An HTTP-like text of Outlook.com that says nothing more, seen where an address is new to it (kumomta, shaping.toml).
  {
    id: 'microsoft-denied-for-now',
    provider: 'microsoft',
    words: /^access denied, please try again later/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: microsoftThrottling,
  },
]
