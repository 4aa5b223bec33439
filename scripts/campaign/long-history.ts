import { mkdirSync } from 'node:fs'
import { idFloor } from '../../src/id.ts'
import { migrate } from '../../src/store/migrate.ts'
import { openWriter, type Connection } from '../../src/store/sqlite-connection.ts'

type IdPrefix = Parameters<typeof idFloor>[0]

/** How long a history is, and how much of it is there. */
export interface History {
  messages: number
  /** Epoch, ms: when the first message came, and the last. */
  from: number
  to: number
  /** Of messages that came later than this their content is there: 2 KB each, and a megabyte of every thousandth. */
  contentSince: number
  /** The same of attempts. */
  attemptsSince: number
}

/** Messages of one transaction. */
const atOnce = 20_000
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const bodySize = 2_048
const largeChunks = 4

/**
 * Makes a database as years of work would have left it: for every message a recipient, three events, an attempt, and now and
 * then a tag, a post to a webhook or a suppression. By SQL and without flushes, so that millions take minutes.
 */
export function makeHistory(directory: string, history: History, progress: (messages: number) => void = () => {}): void {
  mkdirSync(directory, { recursive: true })
  const connection = openWriter(directory)
  connection.pragma('synchronous = off')
  connection.pragma('cache_size = -500000')
  connection.pragma('wal_autocheckpoint = 50000')
  migrate(connection)
  makeFrame(connection)
  const insert = inserts(connection)
  for (let done = 0; done < history.messages; done += atOnce) {
    connection.transaction(() => {
      for (let n = done; n < Math.min(history.messages, done + atOnce); n++) insertMessage(insert, n, history)
    })()
    progress(done)
  }
  connection.exec(`insert into cursor (name, position) select 'analytics', max(seq) from event`)
  connection.pragma('wal_checkpoint(truncate)')
  connection.close()
}

function makeFrame(connection: Connection): void {
  connection.exec(`
    insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0);
    insert into domain (id, account_id, name, status, return_path_label, return_path_seen, tls, created_at)
      values ('dom_1', 'acc_1', 'sender.example', 'verified', 'send', 1, 'opportunistic', 0);
    insert into webhook (id, account_id, url, events, payload, sandbox, status, secret, after_seq, created_at, updated_at)
      values ('wh_1', 'acc_1', 'https://hooks.example/', ',email.bounced,', 'standard', 0, 'enabled', x'', 0, 0, 0);`)
}

type Insert = (values: (string | number | null | Uint8Array)[]) => void

function inserts(connection: Connection): Record<string, Insert> {
  const into = (table: string, columns: string): Insert => {
    const statement = connection.prepare(
      `insert into ${table} (${columns}) values (${columns
        .split(',')
        .map(() => '?')
        .join(', ')})`,
    )
    return (values) => void statement.run(...values)
  }
  return {
    message: into(
      'message',
      `id, account_id, domain_id, source, sandbox, author, header_from, header_to, header_cc, reply_to, subject, message_id_header, size,
       body_type, smtputf8, tags, metadata, created_at`,
    ),
    tag: into('message_tag', 'account_id, name, value, message_id'),
    content: into('content', 'message_id, chunk, bytes'),
    recipient: into(
      'recipient',
      `id, message_id, account_id, forward_path, destination, type, state, expires_at, attempts, last_response, smtp_code, sent_at,
       delivered_at, bounced_at`,
    ),
    event: into('event', 'id, account_id, message_id, recipient_id, type, sandbox, created_at, data'),
    attempt: into(
      'attempt',
      `id, recipient_id, message_id, started_at, duration_ms, outcome, mx_host, address, tls, selectors, reply, smtp_code,
       enhanced_status, transcript`,
    ),
    delivery: into('webhook_delivery', 'id, webhook_id, event_id, event_type, body, state, attempts, created_at'),
    webhookAttempt: into('webhook_attempt', 'id, delivery_id, number, sent_at, duration_ms, http_status_code, response'),
    suppression: into('suppression', 'id, account_id, address, origin, topic, sandbox, source_id, reason, created_at'),
    report: into(
      'incoming_report',
      `id, received_at, purpose, forward_path, remote_address, ehlo_name, tls, size, content_id, state, result, account_id, message_id, summary`,
    ),
    reportContent: into('incoming_content', 'id, box, cost, bytes'),
    idempotency: into('idempotency', 'account_id, operation, key, fingerprint, status, response, message_id, expires_at'),
  }
}

/** In time order and always the same: what `newId` would give, with the number of the row in the place of chance. */
function idOf(prefix: IdPrefix, at: number, n: number): string {
  let tail = ''
  for (let rest = n, i = 0; i < 16; i++) {
    tail = alphabet.charAt(rest % 32) + tail
    rest = Math.floor(rest / 32)
  }
  return idFloor(prefix, at) + tail
}

function insertMessage(insert: Record<string, Insert>, n: number, history: History): void {
  const at = Math.floor(history.from + ((history.to - history.from) * n) / history.messages)
  const [id, recipient] = [idOf('em', at, n), idOf('rcp', at, n)]
  const address = `person-${n}@rcpt${n % 500}.example`
  const isBounced = n % 50 === 0
  const subject = `Your order ${n} has been shipped`
  insert['message']!([
    id, 'acc_1', 'dom_1', 'api', 0, 'orders@sender.example', 'Orders <orders@sender.example>', JSON.stringify([address]), '[]', '[]', subject,
    `<${n}.0123456789abcdef@sender.example>`, bodySize, '7bit', 0, '[{"name":"kind","value":"order"}]', '{"order":"4711"}', at,
  ]) // prettier-ignore
  if (n % 4 === 0) insert['tag']!(['acc_1', 'kind', 'order', id])
  insert['recipient']!([
    recipient, id, 'acc_1', address, `rcpt${n % 500}.example`, 'to', isBounced ? 'bounced' : 'delivered', at + 1, 1,
    '250 2.0.0 Ok: queued as 4bGxYz0123456789', 250, at, isBounced ? null : at + 900, isBounced ? at + 900 : null,
  ]) // prettier-ignore
  insertEvents(insert, { n, at, id, recipient, address, subject, isBounced })
  if (at >= history.attemptsSince) insertAttempt(insert, { n, at, id, recipient, address })
  if (at >= history.contentSince) {
    const isLarge = n % 1000 === 0
    for (let chunk = 0; chunk < (isLarge ? largeChunks : 1); chunk++)
      insert['content']!([id, chunk, body(n, isLarge ? 256 * 1024 : bodySize)])
  }
  if (isBounced) {
    insert['suppression']!([idOf('sup', at, n), 'acc_1', address, 'bounce', '', 0, id, '550 5.1.1 No such user', at])
  }
  if (n % 100 === 0) {
    const report = idOf('rep', at, n)
    insert['report']!([
      report, at, 'bounce', 'b@relay.example', '192.0.2.1', 'mx.example', 1, 6_000, report, 'done', 'bounced', 'acc_1', id, `{"to":"${address}"}`,
    ]) // prettier-ignore
    if (at >= history.contentSince) insert['reportContent']!([report, 'proved', 6_000, body(n, 6_000)])
  }
  if (at > history.to - 86_400_000 && n % 2 === 0) {
    insert['idempotency']!([
      'acc_1',
      'send',
      `key-${n}`,
      'f'.repeat(64),
      200,
      `{"messageId":"${id}","to":"${address}"}`,
      id,
      at + 86_400_000,
    ])
  }
}

interface Sent {
  n: number
  at: number
  id: string
  recipient: string
  address: string
}

function insertEvents(
  insert: Record<string, Insert>,
  { n, at, id, recipient, address, subject, isBounced }: Sent & { subject: string; isBounced: boolean },
): void {
  const types = ['email.queued', 'email.sent', isBounced ? 'email.bounced' : 'email.delivered']
  for (const [place, type] of types.entries()) {
    const data = JSON.stringify({ email_id: id, to: address, subject, delivered_at: new Date(at).toISOString() })
    const event = idOf('evt', at, n * 3 + place)
    insert['event']!([event, 'acc_1', id, recipient, type, 0, at, data])
    if (type !== 'email.bounced') continue
    const delivery = idOf('whd', at, n)
    insert['delivery']!([delivery, 'wh_1', event, type, `{"id":"${event}","type":"${type}","data":${data}}`, 'success', 1, at])
    insert['webhookAttempt']!([idOf('wha', at, n), delivery, 1, at, 12, 200, 'thank you'])
  }
}

function insertAttempt(insert: Record<string, Insert>, { n, at, id, recipient, address }: Sent): void {
  const lines = [
    '220 mx ESMTP',
    'EHLO mail.example.com',
    '250-mx 250-SIZE 250-8BITMIME 250 STARTTLS',
    'MAIL FROM:<b0123456789abcdef@send.sender.example>',
  ]
  const transcript = JSON.stringify(
    [...lines, '250 2.1.0 Ok', `RCPT TO:<${address}>`, '250 2.1.5 Ok', 'DATA', '354 End data', '250 2.0.0 Ok'].map((line, i) => [
      i,
      i % 2 ? 'c' : 's',
      line,
    ]),
  )
  insert['attempt']!([
    idOf('att', at, n), recipient, id, at, 900, 'delivered', `mx.rcpt${n % 500}.example`, '192.0.2.1',
    '{"version":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384","verified":true}', 'a,b', '250 2.0.0 Ok', 250, '2.0.0', transcript,
  ]) // prettier-ignore
}

/** Text that names its message everywhere, so that a piece of it is recognised wherever it is left. */
const body = (n: number, size: number): Uint8Array => Buffer.alloc(size, `body-of-${n}; `)
