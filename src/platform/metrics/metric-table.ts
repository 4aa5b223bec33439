import { faultNames } from '../health.ts'
import { returnPathPurposes, returnedMailResults } from './returned-mail-labels.ts'
import { counter, gauge, gaugeOfAll, histogram } from './metric-declaration.ts'

/** Seconds: for work of milliseconds, for one attempt over the network, and for mail that may wait for days. */
const shortBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const attemptBounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]
const delayBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200, 172_800]
const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** The providers that get most mail; all other mailboxes are `other`. */
const providers = [
  'google',
  'microsoft',
  'yahoo',
  'apple',
  'gmx',
  'tonline',
  'comcast',
  'mailru',
  'qq',
  'proofpoint',
  'mimecast',
  'barracuda',
  'simulator',
  'other',
] as const

/** Why a recipient bounced, in the words of the API. */
export const bounceCategories = [
  'invalid_recipient',
  'mailbox_full',
  'domain_not_found',
  'content_rejected',
  'policy',
  'reputation',
  'timeout',
  'expired',
  'suppressed',
  'internal_error',
  'other',
] as const

const httpStatuses = [
  '200',
  '201',
  '202',
  '204',
  '206',
  '302',
  '303',
  '304',
  '400',
  '401',
  '403',
  '404',
  '405',
  '408',
  '409',
  '413',
  '415',
  '422',
  '429',
  '500',
  '503',
  '507',
  'other',
] as const

const refusalReasons = ['authentication', 'permission', 'invalid', 'conflict', 'rate_limit', 'storage', 'internal'] as const

const ports = ['http', 'submission', 'return_path'] as const

/** Seconds that mail has been due, at least. */
export const overdueSteps = ['60', '600', '3600', '21600'] as const

/** Read on request; if one fails, the others are unaffected. */
const figureParts = ['health', 'queue', 'webhooks', 'reports', 'disk', 'connections', 'certificates', 'process'] as const
export type FigurePart = (typeof figureParts)[number]

/**
 * Every metric, declared once. The counters in code, `GET /metrics` and docs/metrics.md are all made from this
 * table. Run `npm run docs` after a change.
 */
export const metricTable = {
  faults: gauge('sterna_fault', 'Whether this fault, as named in /healthz, is present: 1 or 0.', [['name', faultNames]]),

  queued: gaugeOfAll(
    'sterna_queue_recipients',
    'Recipients that are not final: due (ready to be tried), waiting (for a retry, or scheduled), in_hand (being tried), held (by ' +
      'an operator, or because the database was restored or moved).',
    [['state', ['due', 'waiting', 'in_hand', 'held']]],
  ),
  deferred: gaugeOfAll(
    'sterna_queue_deferred_recipients',
    'Recipients that wait because an attempt was deferred; they are included in the metric above.',
  ),
  overdue: gaugeOfAll('sterna_queue_overdue_recipients', 'Recipients that have been due for at least this many seconds.', [
    ['seconds', overdueSteps],
  ]),
  oldestOverdue: gauge(
    'sterna_queue_oldest_overdue_seconds',
    'How long the oldest mail that is neither held nor being tried has been due; 0 if there is none.',
  ),

  attempts: counter(
    'sterna_delivery_attempts_total',
    'Attempts to deliver to one recipient, by outcome and by the provider of the MX host.',
    [
      ['outcome', ['delivered', 'deferred', 'bounced']],
      ['provider', providers],
    ],
  ),
  failures: counter('sterna_delivery_failures_total', 'Attempts that did not deliver, by the meaning of the reply or failure.', [
    ['outcome', ['deferred', 'bounced']],
    ['category', bounceCategories],
  ]),
  settled: counter(
    'sterna_recipients_settled_total',
    'Recipients that the queue has finished: delivered, sent (a smarthost took it), bounced, expired, suppressed, failed (through ' +
      'our own fault).',
    [['result', ['delivered', 'sent', 'bounced', 'expired', 'suppressed', 'failed']]],
  ),
  firstAttemptDelay: histogram(
    'sterna_first_attempt_delay_seconds',
    'From when a message was accepted, or is scheduled for, to the first attempt.',
    delayBounds,
  ),
  attemptDuration: histogram('sterna_attempt_duration_seconds', 'Duration of attempts that found a host.', attemptBounds),
  deliveryDelay: histogram(
    'sterna_delivery_delay_seconds',
    'From when a message was accepted, or is scheduled for, to its delivery, by whose MX host it was.',
    delayBounds,
    [['provider', providers]],
  ),
  transported: counter(
    'sterna_delivered_by_transport_total',
    'Recipients whose mail a host took: over TLS with a certificate valid for the host (verified), over other TLS (encrypted), or in plain text.',
    [['transport', ['plain', 'encrypted', 'verified']]],
  ),
  tlsHandshakes: counter(
    'sterna_delivery_tls_handshakes_total',
    'Completed TLS handshakes with other mail servers, by what they agreed on.',
    [
      ['version', ['tls1_2', 'tls1_3']],
      ['key_exchange', ['post_quantum', 'classical']],
      ['session', ['new', 'resumed']],
      ['certificate', ['valid', 'not_valid']],
    ],
  ),
  deliveryConnections: gauge('sterna_delivery_connections', 'Connections to other mail servers that are open or being opened.'),
  deliveryConnectionsLimit: gauge('sterna_delivery_connections_limit', 'The limit on these connections.'),
  lookUps: counter('sterna_dns_lookups_total', 'DNS look-ups by result; cached ones were answered from memory.', [
    ['result', ['ok', 'nodata', 'nxdomain', 'servfail', 'cached']],
  ]),

  webhookAttempts: counter(
    'sterna_webhook_attempts_total',
    'Posts to webhooks: success, retry (failed, will be repeated), failed (given up).',
    [['outcome', ['success', 'retry', 'failed']]],
  ),
  webhookDuration: histogram('sterna_webhook_attempt_duration_seconds', 'Duration of posts to webhooks.', attemptBounds),
  webhookDelay: histogram(
    'sterna_webhook_delay_seconds',
    'From when an event was due to be posted to a webhook, or replayed, to the successful post.',
    delayBounds,
  ),
  webhookDeliveries: gaugeOfAll('sterna_webhook_deliveries', 'Webhook deliveries that are not final.', [
    ['state', ['pending', 'attempting']],
  ]),
  webhookOldestOverdue: gaugeOfAll(
    'sterna_webhook_oldest_overdue_seconds',
    'How long the oldest due webhook delivery has been due; 0 if there is none.',
  ),
  webhookUnread: gaugeOfAll(
    'sterna_webhook_unread_events',
    'Events in the log that have not yet become webhook deliveries; 0 while no webhook is enabled.',
  ),

  accepted: counter('sterna_messages_accepted_total', "Accepted messages, by how they came in; system is the server's own mail.", [
    ['door', ['api', 'compat', 'smtp', 'system']],
  ]),
  refused: counter('sterna_messages_refused_total', 'Refused submissions, by how they came in and by reason.', [
    ['door', ['api', 'compat', 'smtp']],
    ['reason', refusalReasons],
  ]),
  httpRequests: counter('sterna_http_requests_total', 'HTTP responses, by status.', [['status', httpStatuses]]),
  rateLimits: counter('sterna_rate_limit_refusals_total', 'Refusals because of a limit, by limit.', [
    ['limit', ['account_requests', 'user_requests', 'failed_authentications', 'smtp_messages', 'failed_logins', 'return_path_messages']],
  ]),

  connections: gauge('sterna_connections', 'Incoming connections that are open.', [['port', ports]]),
  connectionsLimit: gauge('sterna_connections_limit', 'The limit on these connections.', [['port', ports]]),
  connectionsRefused: counter('sterna_connections_refused_total', 'Connections refused for lack of room.', [['port', ports]]),
  connectionsSentAway: counter('sterna_connections_sent_away_total', 'Idle connections closed to make room for new ones.', [
    ['port', ports],
  ]),

  reportsReceived: counter('sterna_reports_received_total', 'Messages accepted by the return path, by the purpose of their address.', [
    ['purpose', returnPathPurposes],
  ]),
  reportsSettled: counter('sterna_reports_settled_total', 'Returned messages, by result.', [['result', returnedMailResults]]),
  reportsWaiting: gaugeOfAll('sterna_reports_waiting', 'Returned messages that are not settled yet.'),

  commits: histogram('sterna_store_commit_seconds', 'Duration of database commits, including the flush.', shortBounds),
  commitBatches: histogram('sterna_store_commit_batches', 'Batches per commit.', batchBounds),
  failedCommits: counter(
    'sterna_store_failed_commits_total',
    "Commits that failed as a whole: a full or failing disk, or another program's lock.",
  ),
  databaseBytes: gauge('sterna_store_database_bytes', 'Size of the database file.'),
  walBytes: gauge('sterna_store_wal_bytes', 'Size of its write-ahead log.'),
  lastBackup: gauge(
    'sterna_backup_last_success_timestamp_seconds',
    'When the newest backup at backup.target was begun, in Unix time, while backups are scheduled.',
  ),
  failedBackups: counter('sterna_backup_failures_total', 'Scheduled backups that failed.'),
  copyBehind: gauge(
    'sterna_copy_behind_seconds',
    'How old the newest state is that the continuous copy has stored, while there is such a copy.',
  ),
  copiedBytes: counter('sterna_copy_bytes_total', 'Bytes of the log that the continuous copy has stored, before compression.'),
  diskFree: gauge('sterna_disk_free_bytes', 'Free space on the file system of the data directory.'),
  diskSize: gauge('sterna_disk_size_bytes', 'Size of that file system.'),

  certificateExpiry: gauge(
    'sterna_certificate_expiry_timestamp_seconds',
    'When the certificate that clients get expires, in Unix time: for hostname (server), for the host of base_url over HTTPS (web), and ' +
      'the first to expire of the tracking hosts that have one (tracking).',
    [['role', ['server', 'web', 'tracking']]],
  ),
  certificatesFailing: gauge('sterna_certificates_failing', 'Names for which the last attempt to get a certificate over ACME failed.'),

  loopDelay: histogram('sterna_event_loop_delay_seconds', 'Delay of timers on the main thread, measured 50 times a second.', shortBounds),
  loopBusy: counter('sterna_event_loop_busy_seconds_total', 'Time that the main thread has been busy; its rate is the utilization.'),
  cpu: counter('process_cpu_seconds_total', 'CPU time of all threads, user and system.'),
  resident: gauge('process_resident_memory_bytes', 'Resident memory of the process.'),
  startedAt: gauge('process_start_time_seconds', 'When the process started, in Unix time.'),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'Heap of the main thread in use.'),
  heapTotal: gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.'),
  external: gauge('nodejs_external_memory_bytes', 'Memory outside the heap held by its objects, including buffers.'),

  partUp: gauge(
    'sterna_scrape_part_up',
    'Whether this part of the metrics could be read: 1 or 0. Metrics that cannot be read are omitted.',
    [['part', figureParts]],
  ),
}

export type MetricTable = typeof metricTable

/** The only metric with open-ended labels, which describe this program. */
export const buildInfo = {
  name: 'sterna_build_info',
  help: 'Always 1; the labels are the versions of Sterna and Node.',
  labels: ['version', 'node'],
} as const
