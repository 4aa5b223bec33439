import * as type from './setting-types.ts'
import type { HostPort, SettingType } from './setting-types.ts'

/** What a default may be made from: the computer's name, and the settings that are declared further up. */
interface KnownSettings {
  systemHostname: string
  valueOf(name: string): unknown
}

export interface Setting<T> {
  type: SettingType<T>
  /** As one would write it in the file. */
  default: string | number | boolean | null | Record<string, number> | ((known: KnownSettings) => string)
  /** How the documentation words a default that is computed. */
  defaultInWords?: string
  doc: string
}

const setting = <T>(kind: SettingType<T>, standard: Setting<T>['default'], doc: string, defaultInWords?: string): Setting<T> => ({
  type: kind,
  default: standard,
  doc,
  ...(defaultInWords === undefined ? {} : { defaultInWords }),
})

const anyPort = 65_535
const feedbackSenderOf = (hostname: string): string => hostname.replace(/[^a-z0-9]/g, '').slice(-15).padEnd(5, '0')
const standardPlans = { free: 100, starter: 500, professional: 2000, enterprise: 10_000 }

/**
 * Every setting, declared once: the type of the loaded configuration, the names of the environment variables, the
 * example file and docs/settings.md are all made from this table. Run `npm run docs` after a change.
 */
export const settings = {
  data_dir: setting(
    type.path,
    './data',
    'The directory that holds everything Sterna keeps: the database, the key file, the control socket. One process at a time.',
  ),
  secret_key_file: setting(
    type.path,
    (known) => `${String(known.valueOf('data_dir'))}/secret.key`,
    'The key that encrypts DKIM keys and webhook secrets in the database. Made at the first start. ' +
      'Keep a copy apart from the backups: without it they cannot be restored, and a server whose key file is gone does not start.',
    '{data_dir}/secret.key',
  ),
  hostname: setting(
    type.hostname,
    ({ systemHostname: name }) => (name.includes('.') && type.isHostname(name.toLowerCase()) ? name : 'localhost'),
    'The name of this server in EHLO, in Received fields and in the SPF record to publish. ' +
      'Receivers expect it to resolve to the address that mail leaves from, and that address back to it.',
    "the computer's name where it contains a dot, else localhost",
  ),
  mode: setting(
    type.choice('live', 'sandbox'),
    'live',
    'In sandbox mode no mail leaves the machine, whatever key submits it; states, events and webhooks run in full.',
  ),

  trusted_proxies: setting(
    type.list(type.network),
    null,
    'Networks of the proxies in front of this server, such as 10.0.0.0/8. Only what they say of their clients is believed: by ' +
      'X-Forwarded-For, and on every port by the PROXY protocol (versions 1 and 2), as HAProxy sends it with send-proxy or ' +
      'send-proxy-v2. Whoever connects from there without it is greeted over SMTP after a second, as the client that it is. ' +
      'A proxy that passes bytes on without a header of its own does not belong here: its clients could name any address. ' +
      'Without this setting everybody behind a proxy counts as one client, whose failed logins add up and whose connections are limited.',
  ),

  'http.listen': setting(
    type.list(type.listenAddress),
    '0.0.0.0:8080',
    'Where the API listens without TLS, for example behind a proxy that adds it.',
  ),
  'http.tls_listen': setting(
    type.list(type.listenAddress),
    null,
    'Where the API listens with TLS, using tls.cert and tls.key.',
  ),
  'http.docs': setting(
    type.flag,
    true,
    'Serves the reference of the API at /docs and its OpenAPI document at /openapi.json, to anybody who asks.',
  ),
  'http.failed_authentications_per_minute': setting(
    type.whole(0, 1_000_000),
    60,
    'Requests without a valid API key that one client address (of IPv6: one /64) may make in a minute before they are answered ' +
      '429; requests with a valid key are never held up by others. 0 sets no limit.',
  ),

  'compat.enabled': setting(
    type.flag,
    true,
    'Serves the APIs of SendGrid, Postmark and Mailgun below /compat/sendgrid, /compat/postmark and /compat/mailgun, as far as ' +
      'their clients send mail by them.',
  ),

  base_url: setting(
    type.webAddress,
    (known) => `http://localhost:${(known.valueOf('http.listen') as HostPort[] | undefined)?.[0]?.port ?? 8080}`,
    'Where the API is reached from outside; the start of every link this server gives out.',
    'http://localhost and the port of http.listen',
  ),

  'submission.listen': setting(
    type.list(type.listenAddress),
    '0.0.0.0:2587',
    'Where apps hand over mail by SMTP with STARTTLS (RFC 6409). The standard port is 587.',
  ),
  'submission.tls_listen': setting(
    type.list(type.listenAddress),
    '0.0.0.0:2465',
    'Where apps hand over mail by SMTP with TLS from the first byte (RFC 8314). The standard port is 465.',
  ),
  'submission.allow_plaintext_auth_on_loopback': setting(
    type.flag,
    false,
    'Lets programs on this computer log in without TLS. Everybody else needs TLS first, always.',
  ),
  'submission.max_recipients': setting(
    type.whole(1, 100_000),
    1000,
    'Recipients of one message handed over by SMTP; further ones are answered 452 4.5.3, which lets the client send them in ' +
      'another message.',
  ),
  'submission.max_connections_per_address': setting(
    type.whole(1, 100_000),
    100,
    'Concurrent SMTP connections from one client address (of IPv6: one /64). Where all are taken, one that is idle and not ' +
      'logged in gives way to the next.',
  ),
  'submission.trace_clients': setting(
    type.flag,
    false,
    'Writes into the Received field of a submitted message the address that it came from, and what the client called itself. ' +
      'Recipients can read both. Which key submitted it is on record in any case.',
  ),
  'submission.messages_per_minute': setting(
    type.whole(0, 1_000_000),
    0,
    'Messages that one account may hand over by SMTP in a minute; 0 sets no limit.',
  ),
  message_size_limit: setting(
    type.size,
    '25MB',
    'The largest message that is taken, complete with headers and encoded attachments. Announced by SMTP as SIZE.',
  ),

  'return_path.domain': setting(
    type.hostname,
    (known) => String(known.valueOf('hostname')),
    "The domain of the reverse-path (MAIL FROM) of mail from a domain whose own return-path records are not published yet.",
    '{hostname}',
  ),
  'return_path.listen': setting(
    type.list(type.listenAddress),
    '0.0.0.0:2525',
    'Where mail servers hand over what comes back: bounces, complaints, reports, and mail for the postmaster. They connect to ' +
      'port 25 of the host that the MX of the return path names.',
  ),
  'return_path.max_connections_per_address': setting(
    type.whole(1, 10_000),
    20,
    'Concurrent connections to the return path from one client address (of IPv6: one /64). Where all are taken, one that is ' +
      'idle gives way to the next.',
  ),
  'return_path.messages_per_minute': setting(
    type.whole(0, 1_000_000),
    600,
    'Messages that one client address (of IPv6: one /64) may hand over by the return path in a minute; 0 sets no limit.',
  ),
  'return_path.complaint_sources': setting(
    type.list(type.network),
    null,
    'Networks, such as 192.0.2.0/24, of the providers whose complaints are believed, however many come in a day. Without it ' +
      'those of anybody are that bring back the token of a message, which only whoever got it has.',
  ),
  'return_path.storage_limit': setting(
    type.size,
    '256MB',
    'How much is kept of what came in by the return path: so much of mail to the addresses that single messages have, so much ' +
      'again of reports to those that anybody can know, and again of mail for postmaster and abuse. A sixteenth of it in a day is ' +
      'for one address that a message has, or for one network. Beyond it the oldest reports that are settled leave; mail for ' +
      'postmaster and abuse is answered 452 4.2.2.',
  ),
  operator_email: setting(
    type.optional(type.emailAddress),
    null,
    'Who gets the mail for postmaster and abuse at the names of this server and of the return paths: a mailbox elsewhere. ' +
      'Without it that mail is kept, and listed with the other reports.',
  ),

  'tls.cert': setting(
    type.optional(type.path),
    null,
    'Certificate chain, PEM, for the SMTP and HTTP ports with TLS. Without it a self-signed certificate is made in the data ' +
      'directory. A renewed file is used within a minute.',
  ),
  'tls.key': setting(type.optional(type.path), null, 'Private key of tls.cert, PEM.'),

  'dns.servers': setting(
    type.list(type.nameServer),
    null,
    'Name servers to ask, as address:port (port 53 where none is given), in this order. What the first one denies is asked of ' +
      'all of them a quarter of an hour later, before mail bounces for it: give two that do not depend on each other.',
    "the system's name servers",
  ),

  'delivery.port': setting(type.whole(1, anyPort), 25, "The port of the recipients' MX hosts. Anything but 25 is for tests."),
  'delivery.smarthost': setting(
    type.optional(type.hostPort(25)),
    null,
    "A host that takes all mail for delivery, as host:port (port 25 where none is given), instead of the recipients' MX hosts. " +
      'It must accept this server by its address, or by smarthost_user and a password; port 587 is usual then.',
  ),
  'delivery.smarthost_user': setting(
    type.optional(type.text),
    null,
    'The name to log in to the smarthost with. The password is sent by PLAIN or LOGIN only inside TLS to a host with a valid certificate; ' +
      'elsewhere SCRAM-SHA-256 or CRAM-MD5 is used.',
  ),
  'delivery.smarthost_password': setting(
    type.optional(type.secret),
    null,
    'The password of smarthost_user. It is never shown; a file that only this server can read is safer.',
  ),
  'delivery.smarthost_password_file': setting(
    type.optional(type.path),
    null,
    'A file that holds the password of smarthost_user, instead of the setting.',
  ),
  'delivery.smarthost_tls': setting(
    type.choice('opportunistic', 'starttls', 'implicit'),
    (known) => {
      if ((known.valueOf('delivery.smarthost') as HostPort | null)?.port === 465) return 'implicit'
      return known.valueOf('delivery.smarthost_user') === null ? 'opportunistic' : 'starttls'
    },
    'TLS with the smarthost: demanded, by STARTTLS or from the first byte, or used where it is offered. Mail waits where what is ' +
      'demanded cannot be had.',
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
    'Certificates, PEM, of your own authorities that may have issued the smarthost’s certificate, in addition to the public ones.',
  ),
  'delivery.allow_private_addresses': setting(
    type.flag,
    false,
    'Lets mail be delivered to loopback, private, link-local and reserved addresses. For labs and internal mail servers: ' +
      'otherwise anyone who controls a DNS zone could make this server talk to your internal network.',
  ),
  'delivery.max_connections_per_host': setting(type.whole(1, 1000), 20, 'Concurrent connections to one MX host.'),
  'delivery.messages_per_connection': setting(
    type.whole(1, 100_000),
    100,
    'Messages sent over one connection before a new one is opened.',
  ),
  'delivery.idle_connection': setting(
    type.duration,
    '5s',
    'How long an idle connection to an MX host is kept for the next message.',
  ),
  'delivery.threads': setting(type.whole(1, 64), 1, 'Threads that sign and deliver. One is enough for two cores.'),
  'delivery.retry_schedule': setting(
    type.filledList(type.positiveDuration),
    '1m,5m,15m,30m,1h,2h,4h,6h',
    'The waits between attempts at a recipient whose server said "later"; the last one repeats. Each is stretched a little ' +
      'at random.',
  ),
  'delivery.give_up_after': setting(
    type.positiveDuration,
    '48h',
    'How long a recipient is retried. RFC 5321 4.5.4.1 asks for 4 to 5 days; transactional mail is stale sooner.',
  ),

  'delivery.feedback_sender': setting(
    type.feedbackSender,
    (known) => feedbackSenderOf(String(known.valueOf('hostname'))),
    "The last part of the Feedback-ID field, by which Gmail's Postmaster Tools sum up complaints about all mail of this server.",
    'the letters and digits of hostname, the last 15 of them',
  ),

  'tracking.settle': setting(
    type.positiveDuration,
    '30s',
    'How long after an open or a click its event is written and told to webhooks: by then most machines are known by what they did next. ' +
      'It is counted at once.',
  ),
  'tracking.reader_addresses': setting(
    type.choice('truncated', 'full', 'none'),
    'truncated',
    'What is kept of the address that an open or a click came from: its network (/24 of IPv4, /48 of IPv6), the whole address, or nothing.',
  ),
  'tracking.hidden_link': setting(
    type.flag,
    false,
    'Puts a link that nobody sees into mail whose clicks are tracked. Only machines follow it, and are known by it; some filters of mail ' +
      'take it for a sign of spam.',
  ),
  'tracking.hosts': setting(
    type.choice('certified', 'always'),
    'certified',
    'When tracking links are at the tracking host of a domain instead of base_url: once the certificate of http.tls_listen covers it, or ' +
      'always, where a proxy has the certificates.',
  ),
  'tracking.scanner_networks': setting(
    type.list(type.network),
    null,
    'Networks, such as 192.0.2.0/24, of scanners that open and click mail before its readers do. What comes from there counts as ' +
      "a machine's, beside what config/reader-rules.json knows. Only networks from which no person reads mail.",
  ),

  'notices.delay_after': setting(
    type.duration,
    '4h',
    'How long a message is tried before whoever submitted it by SMTP is warned that it is late; with 0 nobody is. Only for ' +
      'accounts with delivery notices turned on.',
  ),

  'webhooks.allow_private_addresses': setting(
    type.flagOrNetworks,
    false,
    'Lets webhooks be posted to loopback and private addresses, such as another container: all of them, or those in a ' +
      'list of networks like 10.0.0.0/8.',
  ),
  'webhooks.allow_http': setting(type.flag, true, 'Lets webhooks have http URLs; with false only https ones can be added.'),
  'webhooks.retry_schedule': setting(
    type.list(type.positiveDuration),
    '1m,5m,30m,2h,24h',
    'The waits after each failed attempt to post an event; when the list is used up, the delivery has failed.',
  ),
  'webhooks.timeout': setting(type.positiveDuration, '15s', 'How long a webhook endpoint may take to answer.'),

  'suppression.hard_bounces': setting(
    type.flag,
    true,
    'Puts an address on the suppression list of the account at once when mail to it bounces hard: it, or its domain, does not ' +
      'exist, has moved, or takes no mail. Where the DNS alone says so it does not, for that may be wrong. Where words alone call the ' +
      'address unknown, without a proof, the bounce is soft, and the second one from another day suppresses, unless something was delivered ' +
      'there, opened or clicked by a person in between.',
  ),
  'suppression.complaints': setting(type.flag, true, 'Puts an address on the suppression list at once when its owner calls mail spam.'),
  'suppression.soft_bounces': setting(
    type.whole(0, 1000),
    0,
    'Puts an address on the suppression list after so many soft bounces (a full mailbox, say) without a delivery between them. ' +
      'Refusals that are about the sender or the content do not count, nor what the DNS alone says. 0: never.',
  ),
  'suppression.expiry': setting(
    type.duration,
    '0s',
    'How long a suppression after a bounce counts; then mail is sent again. 0: until it is removed. Complaints, opt-outs and ' +
      'what was added by hand do not expire.',
  ),

  plans: setting(
    type.numbersByName(standardPlans, type.whole(1, 10_000_000)),
    standardPlans,
    'The plans an account may have, each with its API requests a minute. Plans named here are ' +
      'added to these four or replace them.',
  ),
  'accounts.default_plan': setting(type.text, 'free', 'The plan of an account that is created without one.'),

  content_retention: setting(
    type.duration,
    '7d',
    'How long the content of a message and the transcripts of its delivery are kept once every recipient is final; ' +
      'with 0 content goes at once.',
  ),
  event_retention: setting(type.duration, '90d', 'How long messages (without content) and events are kept.'),
  'storage.reserve': setting(
    type.size,
    '64MB',
    'Free disk space below which no new mail is taken, so that what is queued can still be delivered. ' +
      'Never more than a tenth of the file system.',
  ),

  'doctor.port_25_hosts': setting(
    type.list(type.hostPort(25)),
    'gmail-smtp-in.l.google.com,mx01.mail.icloud.com,mta5.am0.yahoodns.net',
    'MX hosts that `sterna doctor` connects to, as host:port, to see whether port 25 is open to the outside.',
  ),
  'doctor.dnsbls': setting(
    type.list(type.hostname),
    'zen.spamhaus.org,bl.spamcop.net,psbl.surriel.com,dnsbl.dronebl.org',
    "DNS blocklists that `sterna doctor` asks for this server's addresses. Mind their terms of use.",
  ),
  'doctor.ntp_server': setting(
    type.optional(type.hostPort(123)),
    null,
    'A time server, as host:port (port 123 where none is given), that `sterna doctor` compares the clock with.',
  ),

  'metrics.listen': setting(
    type.list(type.listenAddress),
    null,
    'Where GET /metrics is answered to anybody who asks, without a key, and nothing else is: a private address, such as 127.0.0.1:9464. ' +
      'At the addresses of the API it takes a key with the permission metrics.',
  ),

  'log.level': setting(
    type.choice('debug', 'info', 'warn', 'error', 'silent'),
    'info',
    'What is logged to standard error, as JSON lines.',
  ),
} satisfies Record<string, Setting<unknown>>

type Settings = typeof settings
export type SettingName = keyof Settings
type ValueOf<S> = S extends Setting<infer T> ? T : never

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : S
type Section = SettingName extends infer N ? (N extends `${infer S}.${string}` ? S : never) : never

/**
 * The loaded configuration: `delivery.give_up_after` is `config.delivery.giveUpAfter`. Durations are in ms, sizes in
 * bytes, paths absolute.
 */
export type Config = {
  readonly [N in SettingName as N extends `${string}.${string}` ? never : CamelCase<N>]: ValueOf<Settings[N]>
} & {
  readonly [S in Section as CamelCase<S>]: {
    readonly [N in SettingName as N extends `${S}.${infer Key}` ? CamelCase<Key> : never]: ValueOf<Settings[N]>
  }
} & {
  /** Where each setting that is not a default was given: the variable's name, or the file and its line. */
  readonly origins: ReadonlyMap<SettingName, string>
}

export const settingNames = Object.keys(settings) as SettingName[]

/** `STERNA_` and the name in capitals, with `_` for `.` */
export const environmentNameOf = (name: string): string => `STERNA_${name.toUpperCase().replaceAll('.', '_')}`

export const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** The value of a setting by its name in the file. */
export function settingValue(config: Config, name: SettingName): unknown {
  const [head = '', tail] = name.split('.').map(camelCase)
  const value = (config as unknown as Record<string, unknown>)[head]
  return tail === undefined ? value : (value as Record<string, unknown>)[tail]
}
