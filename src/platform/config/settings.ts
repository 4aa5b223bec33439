import { defaultBaseUrl } from './base-url.ts'
import { logLevels } from '../log-level.ts'
import { dnssecProbe } from './dnssec-probe.ts'
import { fixedSender, oauthTenant, standardScope, standardTokenUrl, tokenUrl } from './oauth-settings.ts'
import { reportServices } from './report-services.ts'
import { recipientTls } from './recipient-tls.ts'
import { sourceAddresses } from './source-address.ts'
import * as type from './setting-types.ts'

/** What a default may depend on: the computer's name, and the settings declared above it. */
interface KnownSettings {
  systemHostname: string
  valueOf(name: string): unknown
  /** Whether somebody set it. */
  isSet(name: string): boolean
}

export interface Setting<T> {
  type: type.SettingType<T>
  /** As a user would write it in the file. */
  default: string | number | boolean | null | Record<string, number> | ((known: KnownSettings) => string | null)
  /** How the documentation describes a computed default. */
  defaultInWords?: string
  doc: string
}

const setting = <T>(kind: type.SettingType<T>, standard: Setting<T>['default'], doc: string, defaultInWords?: string): Setting<T> => ({
  type: kind,
  default: standard,
  doc,
  ...(defaultInWords === undefined ? {} : { defaultInWords }),
})

const anyPort = 65_535
const feedbackSenderOf = (hostname: string): string =>
  hostname
    .replace(/[^a-z0-9]/g, '')
    .slice(-15)
    .padEnd(5, '0')
const standardKeep = { last: 3, daily: 7, weekly: 4, monthly: 0 }
const standardPlans = { free: 100, starter: 500, professional: 2000, enterprise: 10_000 }

/**
 * Every setting, declared once. This table defines the type of the loaded configuration, the environment variables, the example file and
 * docs/settings.md. Run `npm run docs` after a change.
 */
export const settings = {
  data_dir: setting(
    type.path,
    './data',
    'The directory for everything that Sterna stores: the database, the key file, the control socket. Only one process can use it ' +
      'at a time.',
  ),
  'store.url': setting(
    type.optional(type.secret),
    null,
    'The database, if it is not to be in files of the data directory: postgres://user:password@host/database, on PostgreSQL 15 or newer. ' +
      'Add ?sslmode=disable, require, verify-ca or verify-full (the default for another machine), and &sslrootcert=FILE for an authority of ' +
      'your own.',
  ),
  secret_key_file: setting(
    type.path,
    (known) => `${String(known.valueOf('data_dir'))}/secret.key`,
    'The key that encrypts DKIM keys and webhook secrets in the database. The first start creates it. Keep a copy separate from the ' +
      'backups: without it you cannot restore them, and a server that has lost its key file does not start.',
    '{data_dir}/secret.key',
  ),
  hostname: setting(
    type.hostname,
    ({ systemHostname: name }) => (name.includes('.') && type.isHostname(name.toLowerCase()) ? name : 'localhost'),
    'The name of this server in EHLO, in Received fields and in the SPF record to publish. Receivers expect it to resolve to the ' +
      'address that mail leaves from, and that address to resolve back to it.',
    "the computer's name if it contains a dot, else localhost",
  ),
  mode: setting(
    type.choice('live', 'sandbox'),
    'live',
    'In sandbox mode no mail leaves the machine, whichever key submits it. States, events and webhooks work as usual.',
  ),

  trusted_proxies: setting(
    type.list(type.network),
    null,
    'Networks of the proxies in front of this server, such as 10.0.0.0/8. Sterna believes only these about their clients: by ' +
      'X-Forwarded-For over HTTP, and on every port by the PROXY protocol (versions 1 and 2), as HAProxy sends it with send-proxy or ' +
      'send-proxy-v2. A connection from these networks without a PROXY header gets its SMTP greeting after a second, under its own ' +
      'address. Do not list a proxy that passes bytes through without adding its own header: its clients could claim any address. ' +
      'Without this setting, everybody behind a proxy counts as one client with one set of connection limits and one count of failed ' +
      'logins.',
  ),

  'http.listen': setting(
    type.list(type.listenAddress),
    '[::]:8080',
    'Where the API listens without TLS, for example behind a proxy that adds it. See http.redirect_to_https.',
  ),
  'http.tls_listen': setting(type.list(type.listenAddress), null, 'Where the API listens with TLS, using tls.cert and tls.key.'),
  'http.redirect_to_https': setting(
    type.flag,
    true,
    'Once there is a certificate for the host of base_url, http.listen sends every request on to base_url; one with an API key, a token ' +
      'or a password gets 403 instead. It goes on answering /healthz, tracking links, one-click unsubscribes and the checks of certificate ' +
      'authorities, and what trusted_proxies hand on, unless X-Forwarded-Proto says http. It applies if http.tls_listen is set and ' +
      'base_url is https. With false, http.listen answers everything without TLS.',
  ),
  'http.docs': setting(
    type.flag,
    true,
    'Serves the API reference at /docs and the OpenAPI document at /openapi.json, without authentication.',
  ),
  'http.failed_authentications_per_minute': setting(
    type.whole(0, 1_000_000),
    60,
    'Requests without a valid API key that one client address (for IPv6: one /64) may make per minute before Sterna answers 429. ' +
      'Requests with a valid key are never affected by those of others. 0 means no limit.',
  ),

  'dashboard.enabled': setting(
    type.flag,
    true,
    'Serves the dashboard at / to browsers that come by the host of base_url, by localhost or by an IP address.',
  ),

  'compat.enabled': setting(
    type.flag,
    true,
    'Serves the parts of the SendGrid, Postmark, Mailgun and Postal APIs that their clients use to send, at /compat/sendgrid, ' +
      '/compat/postmark, /compat/mailgun and /compat/postal.',
  ),

  base_url: setting(
    type.webAddress,
    (known) =>
      defaultBaseUrl({
        hostname: known.isSet('hostname') ? String(known.valueOf('hostname')) : null,
        listen: (known.valueOf('http.listen') ?? []) as type.HostPort[],
        tlsListen: (known.valueOf('http.tls_listen') ?? []) as type.HostPort[],
        trustedProxies: (known.valueOf('trusted_proxies') ?? []) as string[],
      }),
    'Where the API is reached from outside; the start of every link this server gives out, also in mail. With a hostname of the ' +
      'internet, Sterna refuses a base_url on localhost.',
    'while hostname is not set, http://localhost and the port of http.listen; then https and hostname if http.tls_listen or ' +
      'trusted_proxies is set or http.listen is loopback, else http, hostname and the port of http.listen',
  ),

  'submission.listen': setting(
    type.list(type.listenAddress),
    '[::]:2587',
    'Where apps hand over mail by SMTP with STARTTLS (RFC 6409). The standard port is 587.',
  ),
  'submission.tls_listen': setting(
    type.list(type.listenAddress),
    '[::]:2465',
    'Where apps hand over mail by SMTP with TLS from the first byte (RFC 8314). The standard port is 465.',
  ),
  'submission.allow_plaintext_auth_on_loopback': setting(
    type.flag,
    false,
    'Lets programs on this computer log in without TLS. All other clients always need TLS first.',
  ),
  'submission.max_recipients': setting(
    type.whole(1, 100_000),
    1000,
    'Recipients of one message over SMTP. Sterna answers further ones with 452 4.5.3, so the client can send them in another message.',
  ),
  'submission.max_connections_per_address': setting(
    type.whole(1, 100_000),
    100,
    'Concurrent SMTP connections from one client address (for IPv6: one /64). When all are taken, an idle one without a login, or ' +
      'of the account with the most, is closed for the next client.',
  ),
  'submission.trace_clients': setting(
    type.flag,
    false,
    "Adds the submitting client's address and EHLO name to the Received field of each message. Recipients can read both. Sterna " +
      'records the key that submitted a message in any case.',
  ),
  'submission.messages_per_minute': setting(
    type.whole(0, 1_000_000),
    0,
    'Messages that one account may submit over SMTP per minute; 0 means no limit.',
  ),
  message_size_limit: setting(
    type.size,
    '25MB',
    'The largest message that Sterna accepts, including headers and encoded attachments. Announced over SMTP as SIZE.',
  ),

  'return_path.domain': setting(
    type.hostname,
    (known) => String(known.valueOf('hostname')),
    "The domain of the reverse-path (MAIL FROM) while a sending domain's own return-path records are not published yet.",
    '{hostname}',
  ),
  'return_path.listen': setting(
    type.list(type.listenAddress),
    '[::]:2525',
    'Where mail servers hand over what comes back: bounces, complaints, reports, and mail for the postmaster. They connect to ' +
      'port 25 of the host that the MX of the return path names.',
  ),
  'return_path.max_connections_per_address': setting(
    type.whole(1, 10_000),
    20,
    'Concurrent connections to the return path from one client address (for IPv6: one /64). When all are taken, an idle one is ' +
      'closed for the next client.',
  ),
  'return_path.messages_per_minute': setting(
    type.whole(0, 1_000_000),
    600,
    'Messages that one client address (for IPv6: one /64) may deliver to the return path per minute; 0 means no limit.',
  ),
  'return_path.complaint_sources': setting(
    type.list(type.network),
    null,
    'Networks, such as 192.0.2.0/24, of the providers whose complaints count, without a daily limit. Complaints from elsewhere then ' +
      'have no effect. Without this setting, a complaint counts if it returns the token of a message, which only its recipients can ' +
      'know.',
  ),
  'return_path.storage_limit': setting(
    type.size,
    '256MB',
    'How much returned mail to keep: this much for the bounce addresses of messages, as much again for the public report addresses, ' +
      'and as much again for postmaster and abuse. Each bounce address and each sending network may use a sixteenth of it per day. ' +
      'Above the limit, Sterna removes the oldest settled reports, and answers mail for postmaster and abuse ' +
      'with 452 4.2.2.',
  ),
  operator_email: setting(
    type.optional(type.emailAddress),
    null,
    'Who gets the mail for postmaster and abuse at the names of this server and of verified return paths: a mailbox elsewhere. Without ' +
      'it, Sterna keeps that mail and lists it with the other returned mail.',
  ),

  'tls.cert': setting(
    type.optional(type.path),
    null,
    'Certificate chain (PEM) for the SMTP and HTTP ports with TLS. Without it, and without acme.enabled, Sterna creates a ' +
      'self-signed certificate in the data directory. Sterna loads a renewed file within a minute.',
  ),
  'tls.key': setting(type.optional(type.path), null, 'Private key of tls.cert (PEM).'),

  'acme.enabled': setting(
    type.flag,
    false,
    'Gets certificates from an authority over ACME (RFC 8555), and renews them: for hostname, and with http.tls_listen also for the ' +
      'host of base_url and each tracking host. With true you agree to the terms of service of the authority. Names that tls.cert ' +
      'covers keep that certificate.',
  ),
  'acme.directory': setting(
    type.webAddress,
    'https://acme-v02.api.letsencrypt.org/directory',
    "The URL of the authority's ACME directory; the default is Let's Encrypt.",
  ),
  'acme.email': setting(
    type.optional(type.emailAddress),
    null,
    'An address that the authority may write to about your account. Optional with most.',
  ),
  'acme.challenges': setting(
    type.filledList(type.choice('http-01', 'tls-alpn-01')),
    'http-01,tls-alpn-01',
    'How to prove that a name is yours; after a failure Sterna tries the next one. http-01 needs port 80 of the name to lead to ' +
      'http.listen; tls-alpn-01 needs port 443 to lead to http.tls_listen.',
  ),
  'acme.ca': setting(
    type.optional(type.path),
    null,
    'Certificates (PEM) that may vouch for acme.directory in addition to the public ones: for an authority of your own.',
  ),
  'acme.eab_key_id': setting(
    type.optional(type.text),
    null,
    'The key id of your account at the authority, if it requires external account binding.',
  ),
  'acme.eab_key': setting(type.optional(type.secret), null, 'The HMAC key that belongs to acme.eab_key_id, in base64url.'),

  'dns.servers': setting(
    type.list(type.nameServer),
    null,
    'Name servers to query, as address:port (default port 53), in this order. When the first one says that a name does not exist, ' +
      'Sterna asks all of them again a quarter of an hour later, before it bounces mail. List two that do not depend on each other.',
    "the system's name servers",
  ),
  'dns.dnssec_probe': setting(
    type.optional(dnssecProbe),
    '. NS',
    'How a name server proves that it validates DNSSEC, without which there is no DANE (RFC 7672): it must answer this with the AD bit set, at ' +
      'the start and every hour. Only those of dns.servers that are on this machine or in a private network are asked. Name another ' +
      'signed name if yours does not know the root; none turns DANE off.',
  ),

  'delivery.port': setting(type.whole(1, anyPort), 25, "The port of the recipients' MX hosts. Use anything but 25 for tests only."),
  'delivery.smarthost': setting(
    type.optional(type.hostPort(25)),
    null,
    "A host that relays all mail, as host:port (default port 25), instead of the recipients' MX hosts. It must accept this server " +
      'by its address, or by smarthost_user and a password or OAuth 2; then the usual port is 587.',
  ),
  'delivery.smarthost_user': setting(
    type.optional(type.text),
    null,
    'The user name for the smarthost. Sterna sends the password with PLAIN or LOGIN only inside TLS to a host with a valid ' +
      'certificate; otherwise it uses SCRAM-SHA-256 or CRAM-MD5.',
  ),
  'delivery.smarthost_password': setting(type.optional(type.secret), null, 'The password of smarthost_user.'),
  'delivery.smarthost_oauth': setting(
    type.optional(type.choice('microsoft', 'google', 'other')),
    null,
    'Logs in to the smarthost as smarthost_user by OAuth 2, with an access token of this provider instead of a password. See smarthosts.md.',
  ),
  'delivery.smarthost_oauth_grant': setting(
    type.choice('client_credentials', 'refresh_token'),
    (known) => (known.valueOf('delivery.smarthost_oauth') === 'google' ? 'refresh_token' : 'client_credentials'),
    'How access tokens are got: by the client secret alone (client_credentials), or by what a person has granted with ' +
      'sterna smarthost authorize (refresh_token).',
    'refresh_token with google, else client_credentials',
  ),
  'delivery.smarthost_oauth_client_id': setting(
    type.optional(type.text),
    null,
    'The id of the application that is registered with the provider.',
  ),
  'delivery.smarthost_oauth_client_secret': setting(
    type.optional(type.secret),
    null,
    'The secret of that application. A public application, with refresh_token, has none.',
  ),
  'delivery.smarthost_oauth_tenant': setting(
    type.optional(oauthTenant),
    null,
    'With microsoft: the tenant, by its id or by one of its domains.',
  ),
  'delivery.smarthost_oauth_token_url': setting(
    type.optional(tokenUrl),
    (known) => standardTokenUrl(known.valueOf('delivery.smarthost_oauth'), known.valueOf('delivery.smarthost_oauth_tenant')),
    'Where access tokens are got: https, or http on this machine. smarthost_ca counts for it too.',
    "the provider's",
  ),
  'delivery.smarthost_oauth_scope': setting(
    type.optional(type.text),
    (known) => standardScope(known.valueOf('delivery.smarthost_oauth'), known.valueOf('delivery.smarthost_oauth_grant')),
    'What the access token is for.',
    "what the provider's SMTP server requires; with other, none is asked for",
  ),
  'delivery.smarthost_sender': setting(
    type.optional(type.emailAddress),
    (known) => fixedSender(known.valueOf('delivery.smarthost_oauth'), known.valueOf('delivery.smarthost_user')),
    'The envelope sender (MAIL FROM) of all mail, for a smarthost that takes no other. Bounces then come to that mailbox, and not to Sterna.',
    'smarthost_user with microsoft and google; otherwise each message has an address of its own for its bounces',
  ),
  'delivery.smarthost_reports': setting(
    type.optional(type.choice(...reportServices)),
    null,
    'The service that runs the smarthost, if it is to report over HTTP what became of mail. Its reports come to /inbound/reports/ and ' +
      'this name, and turn `sent` into `delivered`, `bounced` or `complained`. See smarthosts.md.',
    'mail that the smarthost has accepted stays sent',
  ),
  'delivery.smarthost_reports_key': setting(
    type.optional(type.secret),
    null,
    'What proves that reports come from the service: with ses the ARN of the SNS topic, with postmark the password of the webhook, with ' +
      'mailgun the HTTP webhook signing key, with sendgrid the verification key.',
  ),
  'delivery.smarthost_tls': setting(
    type.choice('opportunistic', 'starttls', 'implicit'),
    (known) => {
      if ((known.valueOf('delivery.smarthost') as type.HostPort | null)?.port === 465) return 'implicit'
      return known.valueOf('delivery.smarthost_user') === null ? 'opportunistic' : 'starttls'
    },
    'TLS with the smarthost: required by STARTTLS (starttls) or from the first byte (implicit), or used if offered (opportunistic). ' +
      'Mail waits while required TLS is not available.',
    'implicit with port 465, else starttls with smarthost_user, else opportunistic',
  ),
  'delivery.smarthost_verify': setting(
    type.flag,
    true,
    'Where TLS with the smarthost is demanded, its certificate must be valid for its name.',
  ),
  'delivery.smarthost_ca': setting(
    type.optional(type.path),
    null,
    'Certificates (PEM) of your own authorities that may have issued the smarthost’s certificate, in addition to the public ones.',
  ),
  'delivery.allow_private_addresses': setting(
    type.flag,
    false,
    'Allows delivery to loopback, private, link-local and reserved addresses. For labs and internal mail servers only: anyone who ' +
      'controls a DNS zone could otherwise make this server connect to your internal network.',
  ),
  'delivery.max_connections_per_host': setting(
    type.whole(1, 1000),
    20,
    'Concurrent connections to one MX host. Large providers get fewer, as `config/providers.json` says.',
  ),
  'delivery.messages_per_connection': setting(
    type.whole(1, 100_000),
    100,
    'Messages to send over one connection before opening a new one. Large providers get fewer, as `config/providers.json` says.',
  ),
  'delivery.idle_connection': setting(
    type.duration,
    '5s',
    'How long to keep an idle connection to an MX host for the next message. Four times as long once one has been used again, unless the host closes them earlier.',
  ),
  'delivery.threads': setting(type.whole(1, 64), 1, 'Threads that sign and deliver. One is enough for two cores.'),
  'delivery.retry_schedule': setting(
    type.filledList(type.positiveDuration),
    '1m,5m,15m,30m,1h,2h,4h,6h',
    'The delays between attempts after a temporary failure; the last one repeats. Each gets a little longer at random.',
  ),
  'delivery.give_up_after': setting(
    type.positiveDuration,
    '48h',
    'How long to retry a recipient. RFC 5321 4.5.4.1 asks for 4 to 5 days, but transactional mail is stale sooner.',
  ),

  'delivery.recipient_tls': setting(
    recipientTls(1000),
    'none',
    'What TLS is required for mail to a domain, as DOMAIN=POLICY: `require` (encrypted, whatever the certificate), `verify` (with a certificate ' +
      'valid for the MX host), `dane` (with a certificate that TLSA records of the host prove) or `opportunistic`. `.example.com` is for all ' +
      'names below it. Mail waits if no host fulfils it. What the domain itself publishes is then not looked at, but for `dane`.',
  ),
  'delivery.mta_sts': setting(
    type.flag,
    true,
    'Whether mail goes by the policies that recipient domains publish (MTA-STS, RFC 8461). Where one is enforced, mail goes only to ' +
      'MX hosts that it lists and that prove to be them, and waits otherwise.',
  ),

  'delivery.source_addresses': setting(
    sourceAddresses(100),
    'none',
    'The addresses of this machine that mail leaves from, each with its name in EHLO, as ADDRESS NAME; without a name it is hostname. ' +
      'All mail of a sender to one domain leaves from the same one. Of several nodes each has its own. ' +
      'If no IPv4 (or IPv6) address is listed, the system chooses one.',
  ),

  'delivery.feedback_sender': setting(
    type.feedbackSender,
    (known) => feedbackSenderOf(String(known.valueOf('hostname'))),
    "The last part of the Feedback-ID field. Gmail's Postmaster Tools use it to group complaints about all mail from this server.",
    'the last 15 letters and digits of hostname',
  ),

  'tracking.settle': setting(
    type.positiveDuration,
    '30s',
    'How long after an open or a click Sterna writes its event and notifies webhooks. By then, most machines have given themselves ' +
      'away by what they did next. The counts change at once.',
  ),
  'tracking.reader_addresses': setting(
    type.choice('truncated', 'full', 'none'),
    'truncated',
    'What to keep of the address that an open or a click came from: its network (/24 for IPv4, /48 for IPv6), the whole address, or ' +
      'nothing.',
  ),
  'tracking.hidden_link': setting(
    type.flag,
    false,
    'Adds an invisible link to mail whose clicks are tracked. Only machines follow it, which exposes them. Some mail filters take ' +
      'it for a sign of spam.',
  ),
  'tracking.hosts': setting(
    type.choice('certified', 'always'),
    'certified',
    "When tracking links use a domain's tracking host instead of base_url: once http.tls_listen has a certificate for it, or " +
      'always. Use always if a proxy has the certificates.',
  ),
  'tracking.scanner_networks': setting(
    type.list(type.network),
    null,
    'Networks, such as 192.0.2.0/24, of scanners that open and click mail before its readers do. Hits from there count as a ' +
      "machine's, in addition to the networks in config/reader-rules.json. List only networks from which nobody reads mail.",
  ),

  'notices.delay_after': setting(
    type.duration,
    '4h',
    'How long to try a message before Sterna warns the SMTP submitter of the delay; 0 means never. Only for accounts with delivery ' +
      'notices turned on.',
  ),

  'tls_reports.enabled': setting(
    type.flag,
    true,
    'Sends reports on TLS (RFC 8460) to the domains that ask for them: once a day, how many connections to their mail servers were encrypted, ' +
      'and why others failed. Reports by mail need a domain that signs them: sterna doctor says if there is none.',
  ),
  'tls_reports.sender': setting(
    type.optional(type.emailAddress),
    null,
    'The address that reports on TLS come from, at a verified sending domain or at the host name. Default: postmaster@{hostname}.',
  ),
  'tls_reports.organization': setting(type.optional(type.text), null, 'How reports on TLS name you; default: {hostname}.'),
  'tls_reports.contact': setting(
    type.optional(type.emailAddress),
    null,
    'Whom receivers can write to about reports on TLS; default: tls_reports.sender.',
  ),

  'webhooks.allow_private_addresses': setting(
    type.flagOrNetworks,
    false,
    'Allows webhooks to loopback and private addresses, such as another container: all of them, or a list of networks like 10.0.0.0/8.',
  ),
  'webhooks.allow_http': setting(type.flag, true, 'Allows webhooks with http URLs; with false you can add only https ones.'),
  'webhooks.retry_schedule': setting(
    type.list(type.positiveDuration),
    '1m,5m,30m,2h,24h',
    'The delays after failed attempts to post an event. When all are used up, the delivery has failed.',
  ),
  'webhooks.timeout': setting(type.positiveDuration, '15s', 'How long a webhook endpoint may take to answer.'),

  'suppression.hard_bounces': setting(
    type.flag,
    true,
    'Suppresses an address for the account as soon as mail to it bounces hard, because the address or its domain does not exist, ' +
      'has moved, or accepts no mail. A bounce based on DNS alone does not suppress, because DNS may be wrong. If only the wording of ' +
      'a refusal says that the address is unknown, the bounce is soft. A second one on another day suppresses the address, unless ' +
      'mail was delivered there, or a person opened or clicked it, in between.',
  ),
  'suppression.complaints': setting(type.flag, true, 'Suppresses an address as soon as its owner reports mail as spam.'),
  'suppression.soft_bounces': setting(
    type.whole(0, 1000),
    0,
    'Suppresses an address after this many soft bounces (such as a full mailbox) without a delivery between them. Refusals because of ' +
      'the sender or the content do not count, nor do bounces based on DNS alone. 0: never.',
  ),
  'suppression.expiry': setting(
    type.duration,
    '0s',
    'How long a suppression after a bounce lasts; afterwards Sterna sends again. 0: until it is removed. Complaints, opt-outs and ' +
      'manual entries do not expire.',
  ),

  plans: setting(
    type.numbersByName(standardPlans, type.whole(1, 10_000_000)),
    standardPlans,
    'The plans that an account may have, each with its API requests per minute. Plans listed here are added to these four or ' +
      'replace them.',
  ),
  'quotas.daily': setting(
    type.numbersByName({}, type.whole(0, 1_000_000_000)),
    {},
    'How many recipients an account may mail per day, by plan, such as free=100; the day is that of UTC. A plan that is not named has no ' +
      'daily quota. An account or a domain can have its own: sterna account quota.',
    'none',
  ),
  'quotas.monthly': setting(
    type.numbersByName({}, type.whole(0, 1_000_000_000)),
    {},
    'The same per month. Mail beyond a quota is refused with 429 over HTTP and 452 over SMTP.',
    'none',
  ),
  'quotas.urgent_per_minute': setting(
    type.whole(0, 1_000_000),
    60,
    'How many recipients a minute an account may mail with high priority, ahead of the mail of others; more is taken as usual mail. An ' +
      'account can have its own: sterna account urgent-mail.',
  ),
  'harm.bounces_slow': setting(
    type.whole(0, 1000),
    50,
    'Hard bounces per thousand recipients in 24 hours at which an account is slowed; 0 means no limit. An account can have its own ' +
      'limits: sterna account harm-limits.',
  ),
  'harm.bounces_suspend': setting(
    type.whole(0, 1000),
    100,
    'Hard bounces per thousand recipients in 24 hours at which an account is suspended and its queued mail is held; 0 means no limit.',
  ),
  'harm.bounces_from': setting(
    type.whole(0, 1_000_000),
    50,
    'Hard bounces in 24 hours below which neither of these limits applies, so that a few mistyped addresses stop nobody.',
  ),
  'harm.complaints_slow': setting(
    type.whole(0, 1000),
    1,
    'Complaints per thousand recipients in 24 hours at which an account is slowed; 0 means no limit.',
  ),
  'harm.complaints_suspend': setting(
    type.whole(0, 1000),
    5,
    'Complaints per thousand recipients in 24 hours at which an account is suspended and its queued mail is held; 0 means no limit.',
  ),
  'harm.complaints_from': setting(type.whole(0, 1_000_000), 5, 'Complaints in 24 hours below which neither of these limits applies.'),
  'harm.slowed_per_minute': setting(
    type.whole(1, 1_000_000),
    10,
    'How many recipients a minute a slowed account may mail. More is refused with 429 over HTTP and 451 over SMTP.',
  ),
  'accounts.default_plan': setting(type.text, 'free', 'The plan of an account that is created without one.'),

  content_retention: setting(
    type.duration,
    '7d',
    'How long to keep the content of a message and the transcripts of its delivery after every recipient has reached a final state; ' +
      'with 0, content is removed at once.',
  ),
  event_retention: setting(type.duration, '90d', 'How long to keep messages (without content) and events.'),
  'storage.reserve': setting(
    type.size,
    '64MB',
    'The free disk space below which Sterna accepts no new mail, so that it can still deliver what is queued. Never more than a ' +
      'tenth of the file system.',
  ),

  'backup.target': setting(
    type.optional(type.backupPlace),
    null,
    'Where `sterna backup`, scheduled backups and the continuous copy go: a directory, preferably of another machine, or s3://bucket/prefix.',
  ),
  'backup.schedule': setting(
    type.optional(type.cronExpression),
    null,
    'When to make a backup at backup.target, as a cron expression in UTC, such as 15 3 * * * for a quarter past three every day.',
  ),
  'backup.keep': setting(
    type.keptBackups,
    standardKeep,
    'How many backups to keep after a scheduled one: the last ones, and the newest of each of so many days, weeks and months, such as ' +
      'last=3,daily=7,weekly=4,monthly=0. Sterna removes only complete backups that this data directory made, and never the newest.',
  ),
  'backup.overdue_after': setting(
    type.positiveDuration,
    '26h',
    'While backup.schedule is set: how old the newest backup may be before GET /healthz and the metrics report the fault backup.',
  ),
  'backup.encrypt_to': setting(
    type.list(type.ageRecipient),
    null,
    'Encrypts what goes to backup.target for these age recipients (age1…). Only a holder of an identity can restore, so keep it ' +
      'elsewhere. `sterna backup identity` makes one, and so does age-keygen.',
  ),
  'backup.continuous': setting(
    type.flag,
    false,
    'Copies every commit to backup.target within about a second, so that a machine that is lost takes at most two seconds of mail with it. ' +
      '`sterna restore --copy` restores the newest state, and --at an earlier one.',
  ),
  'backup.copy_snapshots': setting(
    type.positiveDuration,
    '24h',
    'How often the continuous copy stores the whole database, so that a restore has fewer commits to add.',
  ),
  'backup.copy_keep': setting(type.positiveDuration, '72h', 'How far back the continuous copy can be restored.'),
  'backup.copy_limit': setting(
    type.size,
    '1GB',
    'How much of the log may wait in the data directory while backup.target is away. Beyond it, the continuous copy gives up, and starts ' +
      'again with the whole database once the target is back.',
  ),
  'backup.s3_endpoint': setting(
    type.optional(type.webAddress),
    null,
    "The URL of an S3-compatible server, such as https://s3.example.com. Without it, Amazon's for backup.s3_region.",
  ),
  'backup.s3_region': setting(type.text, 'us-east-1', 'The region that S3 requests are signed for.'),
  'backup.s3_access_key_id': setting(type.optional(type.text), null, 'The id of the S3 access key.'),
  'backup.s3_secret_access_key': setting(
    type.optional(type.secret),
    null,
    'The secret of the S3 access key. It must be able to list, read, write and delete below the prefix.',
  ),
  'upgrade.backup': setting(
    type.flag,
    true,
    'Whether a new version copies the database before it changes its schema, to `before-upgrade-FROM-to-TO.db` in the data directory. ' +
      'Without enough disk space for the copy, it does not start.',
  ),
  'upgrade.keep_backup': setting(type.duration, '14d', 'How long to keep such a copy. It holds what the database held.'),

  'doctor.port_25_hosts': setting(
    type.list(type.hostPort(25)),
    'gmail-smtp-in.l.google.com,mx01.mail.icloud.com,mta5.am0.yahoodns.net',
    'MX hosts that `sterna doctor` connects to, as host:port, to check that port 25 is open outward.',
  ),
  'doctor.dnsbls': setting(
    type.list(type.hostname),
    'zen.spamhaus.org,bl.spamcop.net,psbl.surriel.com,dnsbl.dronebl.org',
    "DNS blocklists in which `sterna doctor` looks up this server's addresses. Observe their terms of use.",
  ),
  'doctor.ntp_server': setting(
    type.optional(type.hostPort(123)),
    null,
    'A time server, as host:port (default port 123), with which `sterna doctor` compares the clock.',
  ),

  'metrics.listen': setting(
    type.list(type.listenAddress),
    null,
    'Where GET /metrics is answered to anybody who asks, without a key, and nothing else is: a private address, such as 127.0.0.1:9464. ' +
      'At the addresses of the API, it requires a key with the metrics permission.',
  ),

  'log.level': setting(
    type.choice(...logLevels),
    'info',
    'What Sterna logs to standard error, as JSON lines. sterna log level changes it in a running server.',
  ),
} satisfies Record<string, Setting<unknown>>

type Settings = typeof settings
export type SettingName = keyof Settings
type ValueOf<S> = S extends Setting<infer T> ? T : never

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : S
type Section = SettingName extends infer N ? (N extends `${infer S}.${string}` ? S : never) : never

/**
 * The loaded configuration: `delivery.give_up_after` is `config.delivery.giveUpAfter`. Durations are in ms, sizes in bytes, and paths
 * are absolute.
 */
export type Config = {
  readonly [N in SettingName as N extends `${string}.${string}` ? never : CamelCase<N>]: ValueOf<Settings[N]>
} & {
  readonly [S in Section as CamelCase<S>]: {
    readonly [N in SettingName as N extends `${S}.${infer Key}` ? CamelCase<Key> : never]: ValueOf<Settings[N]>
  }
} & {
  /** Where each setting that is not a default was set: the variable's name, or the file and line. */
  readonly origins: ReadonlyMap<SettingName, string>
}

export const settingNames = Object.keys(settings) as SettingName[]

/** Settings that a running server loads again at SIGHUP. Whoever uses them reads them each time. */
export const reloadedSettings: ReadonlySet<SettingName> = new Set<SettingName>([
  'tls.cert',
  'tls.key',
  'suppression.hard_bounces',
  'suppression.complaints',
  'suppression.soft_bounces',
  'suppression.expiry',
  'quotas.daily',
  'quotas.monthly',
  'quotas.urgent_per_minute',
  'harm.bounces_slow',
  'harm.bounces_suspend',
  'harm.bounces_from',
  'harm.complaints_slow',
  'harm.complaints_suspend',
  'harm.complaints_from',
  'harm.slowed_per_minute',
  'content_retention',
  'event_retention',
  'upgrade.keep_backup',
  'doctor.port_25_hosts',
  'doctor.dnsbls',
  'doctor.ntp_server',
  'log.level',
])

/** The settings that may be given as a file, by their names with `_file`. */
export const secretSettings: ReadonlySet<SettingName> = new Set(
  settingNames.filter((name) => (settings[name] as Setting<unknown>).type.isSecret),
)

/** The name under which a secret is given as a file. */
export const secretFileName = (name: SettingName): string => `${name}_file`

/** `STERNA_` and the name in capitals, with `_` instead of `.`. */
export const environmentNameOf = (name: string): string => `STERNA_${name.toUpperCase().replaceAll('.', '_')}`

export const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** A setting's value, by its name in the file. */
export function settingValue(config: Config, name: SettingName): unknown {
  const [head = '', tail] = name.split('.').map(camelCase)
  const value = (config as unknown as Record<string, unknown>)[head]
  return tail === undefined ? value : (value as Record<string, unknown>)[tail]
}
