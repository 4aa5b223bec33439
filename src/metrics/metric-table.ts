import { counter, gauge, histogram } from './metric-declaration.ts'

/** Seconds: of what takes milliseconds, of one attempt over the network, and of mail that may wait for days. */
const shortBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const attemptBounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]
const delayBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200, 172_800]
const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Those that most mail goes to; the mailboxes of all others are `other`. */
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

const failureCategories = [
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

const reportPurposes = ['bounce', 'complaint', 'unsubscribe', 'dmarc_report', 'tls_report', 'postmaster', 'abuse'] as const

const reportResults = [
  'bounced',
  'complained',
  'unsubscribed',
  'delayed',
  'delivered',
  'autoreply',
  'no_report',
  'no_effect',
  'duplicate',
  'not_sent',
  'other_recipient',
  'no_token',
  'expired_token',
  'unknown_recipient',
  'source_not_believed',
  'stored',
  'unknown_domain',
  'limit_reached',
  'forwarded',
  'not_forwarded',
  'not_understood',
] as const

const ports = ['http', 'submission', 'return_path'] as const

/** For how long mail has been due, at least, seconds. */
export const overdueSteps = ['60', '600', '3600', '21600'] as const

/** What is read when somebody asks; one that fails leaves the others as they are. */
export const figureParts = ['health', 'queue', 'webhooks', 'reports', 'disk', 'connections', 'process'] as const
export type FigurePart = (typeof figureParts)[number]

/**
 * Every metric, declared once: what code counts by, what `GET /metrics` answers and docs/metrics.md are all made from this
 * table. Run `npm run docs` after a change.
 */
export const metricTable = {
  faults: gauge('sterna_fault', 'Whether the fault of this name, as /healthz tells it, is there: 1 or 0.', [
    [
      'name',
      ['disk_full', 'resolver_suspect', 'smarthost_login', 'queue_stalled', 'writing', 'database_gone', 'key_file', 'sealed_secrets'],
    ],
  ]),

  queued: gauge(
    'sterna_queue_recipients',
    'Recipients that are not final: due (could be tried now), waiting (for a retry, or scheduled), in_hand (being ' +
      'tried), held (by an operator).',
    [['state', ['due', 'waiting', 'in_hand', 'held']]],
  ),
  deferred: gauge('sterna_queue_deferred_recipients', 'Recipients that wait because an attempt was deferred; in the others too.'),
  overdue: gauge('sterna_queue_overdue_recipients', 'Recipients that have been due for so many seconds at least.', [
    ['seconds', overdueSteps],
  ]),
  oldestOverdue: gauge(
    'sterna_queue_oldest_overdue_seconds',
    'For how long the oldest mail has been due that is neither held nor being tried; 0 where none is.',
  ),

  attempts: counter('sterna_delivery_attempts_total', 'Attempts to deliver to one recipient, by outcome and by whose MX host it was.', [
    ['outcome', ['delivered', 'deferred', 'bounced']],
    ['provider', providers],
  ]),
  failures: counter('sterna_delivery_failures_total', 'Attempts that did not deliver, by what the reply or the failure means.', [
    ['outcome', ['deferred', 'bounced']],
    ['category', failureCategories],
  ]),
  settled: counter(
    'sterna_recipients_settled_total',
    'Recipients that the queue is done with: delivered, sent (a smarthost took it), bounced, expired, suppressed, ' +
      'failed (by our own fault).',
    [['result', ['delivered', 'sent', 'bounced', 'expired', 'suppressed', 'failed']]],
  ),
  firstAttemptDelay: histogram(
    'sterna_first_attempt_delay_seconds',
    'From when a message was accepted, or is scheduled for, to the first attempt.',
    delayBounds,
  ),
  attemptDuration: histogram('sterna_attempt_duration_seconds', 'How long an attempt took at which a host was found.', attemptBounds),
  deliveryDelay: histogram(
    'sterna_delivery_delay_seconds',
    'From when a message was accepted, or is scheduled for, to its delivery, by whose MX host it was.',
    delayBounds,
    [['provider', providers]],
  ),
  deliveryConnections: gauge('sterna_delivery_connections', 'Connections to other mail servers that are open or being opened.'),
  deliveryConnectionsLimit: gauge('sterna_delivery_connections_limit', 'How many of these there may be.'),
  lookUps: counter('sterna_dns_lookups_total', 'Look-ups in the DNS by result; cached ones were answered from memory.', [
    ['result', ['ok', 'nodata', 'nxdomain', 'servfail', 'cached']],
  ]),

  webhookAttempts: counter(
    'sterna_webhook_attempts_total',
    'Posts to webhooks: success, retry (failed, and is repeated), failed (given up).',
    [['outcome', ['success', 'retry', 'failed']]],
  ),
  webhookDuration: histogram('sterna_webhook_attempt_duration_seconds', 'How long a post to a webhook took.', attemptBounds),
  webhookDelay: histogram(
    'sterna_webhook_delay_seconds',
    'From when an event was to be told to a webhook, or told again, to the post that succeeded.',
    delayBounds,
  ),
  webhookDeliveries: gauge('sterna_webhook_deliveries', 'Webhook deliveries that are not final.', [['state', ['pending', 'attempting']]]),
  webhookOldestOverdue: gauge(
    'sterna_webhook_oldest_overdue_seconds',
    'For how long the webhook delivery that is due the longest has been so; 0 where none is.',
  ),
  webhookUnread: gauge(
    'sterna_webhook_unread_events',
    'Events of the log that no webhook deliveries have been made of yet; 0 while no webhook is enabled.',
  ),

  accepted: counter('sterna_messages_accepted_total', 'Messages taken, by the door: system is mail of the server itself.', [
    ['door', ['api', 'compat', 'smtp', 'system']],
  ]),
  refused: counter('sterna_messages_refused_total', 'Submissions refused, by the door and by what was the matter.', [
    ['door', ['api', 'compat', 'smtp']],
    ['reason', refusalReasons],
  ]),
  httpRequests: counter('sterna_http_requests_total', 'Requests that were answered over HTTP, by status.', [['status', httpStatuses]]),
  rateLimits: counter('sterna_rate_limit_refusals_total', 'What was refused because there was too much of it, by the limit.', [
    ['limit', ['account_requests', 'failed_authentications', 'smtp_messages', 'failed_logins', 'return_path_messages']],
  ]),

  connections: gauge('sterna_connections', 'Connections that came in and are open.', [['port', ports]]),
  connectionsLimit: gauge('sterna_connections_limit', 'How many of these there may be.', [['port', ports]]),
  connectionsRefused: counter('sterna_connections_refused_total', 'Connections for which there was no room.', [['port', ports]]),
  connectionsSentAway: counter('sterna_connections_sent_away_total', 'Idle connections that gave way to others.', [['port', ports]]),

  reportsReceived: counter('sterna_reports_received_total', 'Reports taken by the return path, by what their address is for.', [
    ['purpose', reportPurposes],
  ]),
  reportsSettled: counter('sterna_reports_settled_total', 'Reports by what came of them.', [['result', reportResults]]),
  reportsWaiting: gauge('sterna_reports_waiting', 'Reports that have come in and are not settled.'),

  commits: histogram('sterna_store_commit_seconds', 'How long a commit to the database took, its statements and its flush.', shortBounds),
  commitBatches: histogram('sterna_store_commit_batches', 'How many batches shared a commit.', batchBounds),
  failedCommits: counter(
    'sterna_store_failed_commits_total',
    'Commits that failed as a whole: a full or failing disk, a lock of another program.',
  ),
  databaseBytes: gauge('sterna_store_database_bytes', 'Size of the database file.'),
  walBytes: gauge('sterna_store_wal_bytes', 'Size of its write-ahead log.'),
  diskFree: gauge('sterna_disk_free_bytes', 'What is free of the file system of the data directory.'),
  diskSize: gauge('sterna_disk_size_bytes', 'Size of that file system.'),

  loopDelay: histogram(
    'sterna_event_loop_delay_seconds',
    'How late timers of the main thread fire, looked at 50 times a second.',
    shortBounds,
  ),
  loopBusy: counter('sterna_event_loop_busy_seconds_total', 'How long the main thread has been at work; its rate is its utilization.'),
  cpu: counter('process_cpu_seconds_total', 'CPU of all threads, user and system.'),
  resident: gauge('process_resident_memory_bytes', 'Memory of the process that is resident.'),
  startedAt: gauge('process_start_time_seconds', 'When the process was started, in Unix time.'),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'Heap of the main thread in use.'),
  heapTotal: gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.'),
  external: gauge('nodejs_external_memory_bytes', 'Memory outside the heap that its objects hold, buffers among it.'),

  partUp: gauge('sterna_scrape_part_up', 'Whether this part of the metrics could be read: 1 or 0. What could not be is left out.', [
    ['part', figureParts],
  ]),
}

export type MetricTable = typeof metricTable

/** The one metric whose labels are no closed lists: they are of this program. */
export const buildInfo = {
  name: 'sterna_build_info',
  help: 'Always 1; the labels are the versions of Sterna and of Node.',
  labels: ['version', 'node'],
} as const
