import { mkdirSync } from 'node:fs'
import { idFloor } from '../../src/platform/id.ts'
import { migrate } from '../../src/platform/store/sqlite/migrate.ts'
import { openWriter, type Connection } from '../../src/platform/store/sqlite/sqlite-connection.ts'

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
  const insert = inserter(connection)
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

type Insert = (table: string, row: Record<string, string | number | null | Uint8Array>) => void

/** Inserts rows by the names of their columns, which are the same in every row of a table. */
function inserter(connection: Connection): Insert {
  const statements = new Map<string, ReturnType<Connection['prepare']>>()
  return (table, row) => {
    const columns = Object.keys(row)
    const statement =
      statements.get(table) ??
      connection.prepare(`insert into ${table} (${columns.join()}) values (${columns.map((name) => `:${name}`).join()})`)
    statements.set(table, statement)
    statement.run(row)
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

function insertMessage(insert: Insert, n: number, history: History): void {
  const at = Math.floor(history.from + ((history.to - history.from) * n) / history.messages)
  const [id, recipient] = [idOf('em', at, n), idOf('rcp', at, n)]
  const address = `person-${n}@rcpt${n % 500}.example`
  const isBounced = n % 50 === 0
  const subject = `Your order ${n} has been shipped`
  insert('message', {
    id,
    account_id: 'acc_1',
    domain_id: 'dom_1',
    source: 'api',
    sandbox: 0,
    author: 'orders@sender.example',
    header_from: 'Orders <orders@sender.example>',
    header_to: JSON.stringify([address]),
    header_cc: '[]',
    reply_to: '[]',
    subject,
    message_id_header: `<${n}.0123456789abcdef@sender.example>`,
    size: bodySize,
    body_type: '7bit',
    smtputf8: 0,
    tags: '[{"name":"kind","value":"order"}]',
    metadata: '{"order":"4711"}',
    created_at: at,
  })
  if (n % 4 === 0) insert('message_tag', { account_id: 'acc_1', name: 'kind', value: 'order', message_id: id })
  insert('recipient', {
    id: recipient,
    message_id: id,
    account_id: 'acc_1',
    forward_path: address,
    destination: `rcpt${n % 500}.example`,
    type: 'to',
    state: isBounced ? 'bounced' : 'delivered',
    expires_at: at + 1,
    attempts: 1,
    last_response: '250 2.0.0 Ok: queued as 4bGxYz0123456789',
    smtp_code: 250,
    sent_at: at,
    delivered_at: isBounced ? null : at + 900,
    bounced_at: isBounced ? at + 900 : null,
  })
  insertEvents(insert, { n, at, id, recipient, address, subject, isBounced })
  if (at >= history.attemptsSince) insertAttempt(insert, { n, at, id, recipient, address })
  if (at >= history.contentSince) {
    const isLarge = n % 1000 === 0
    for (let chunk = 0; chunk < (isLarge ? largeChunks : 1); chunk++)
      insert('content', { message_id: id, chunk, bytes: body(n, isLarge ? 256 * 1024 : bodySize) })
  }
  if (isBounced) insertSuppression(insert, { n, at, id, address })
  if (n % 100 === 0) insertReport(insert, { n, at, id, address }, at >= history.contentSince)
  if (at > history.to - 86_400_000 && n % 2 === 0) insertIdempotency(insert, { n, at, id, address })
}

interface Message {
  n: number
  at: number
  id: string
  address: string
}

interface Sent extends Message {
  recipient: string
}

function insertSuppression(insert: Insert, { n, at, id, address }: Message): void {
  insert('suppression', {
    id: idOf('sup', at, n),
    account_id: 'acc_1',
    address,
    origin: 'bounce',
    topic: '',
    sandbox: 0,
    source_id: id,
    reason: '550 5.1.1 No such user',
    created_at: at,
  })
}

function insertReport(insert: Insert, { n, at, id, address }: Message, hasContent: boolean): void {
  const report = idOf('rep', at, n)
  insert('returned_mail', {
    id: report,
    received_at: at,
    purpose: 'bounce',
    forward_path: 'b@relay.example',
    remote_address: '192.0.2.1',
    ehlo_name: 'mx.example',
    tls: 1,
    size: 6_000,
    content_id: report,
    state: 'done',
    result: 'bounced',
    account_id: 'acc_1',
    message_id: id,
    summary: `{"to":"${address}"}`,
  })
  if (hasContent) insert('returned_mail_content', { id: report, box: 'proved', cost: 6_000, bytes: body(n, 6_000) })
}

function insertIdempotency(insert: Insert, { n, at, id, address }: Message): void {
  insert('idempotency', {
    account_id: 'acc_1',
    operation: 'send',
    key: `key-${n}`,
    fingerprint: 'f'.repeat(64),
    status: 200,
    response: `{"messageId":"${id}","to":"${address}"}`,
    message_id: id,
    expires_at: at + 86_400_000,
  })
}

function insertEvents(
  insert: Insert,
  { n, at, id, recipient, address, subject, isBounced }: Sent & { subject: string; isBounced: boolean },
): void {
  const types = ['email.queued', 'email.sent', isBounced ? 'email.bounced' : 'email.delivered']
  for (const [place, type] of types.entries()) {
    const data = JSON.stringify({ email_id: id, to: address, subject, delivered_at: new Date(at).toISOString() })
    const event = idOf('evt', at, n * 3 + place)
    insert('event', { id: event, account_id: 'acc_1', message_id: id, recipient_id: recipient, type, sandbox: 0, created_at: at, data })
    if (type !== 'email.bounced') continue
    const delivery = idOf('whd', at, n)
    insert('webhook_delivery', {
      id: delivery,
      webhook_id: 'wh_1',
      event_id: event,
      event_type: type,
      body: `{"id":"${event}","type":"${type}","data":${data}}`,
      state: 'success',
      attempts: 1,
      created_at: at,
    })
    insert('webhook_attempt', {
      id: idOf('wha', at, n),
      delivery_id: delivery,
      number: 1,
      sent_at: at,
      duration_ms: 12,
      http_status_code: 200,
      response: 'thank you',
    })
  }
}

function insertAttempt(insert: Insert, { n, at, id, recipient, address }: Sent): void {
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
  insert('attempt', {
    id: idOf('att', at, n),
    recipient_id: recipient,
    message_id: id,
    started_at: at,
    duration_ms: 900,
    outcome: 'delivered',
    mx_host: `mx.rcpt${n % 500}.example`,
    address: '192.0.2.1',
    tls: '{"version":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384","verified":true}',
    selectors: 'a,b',
    reply: '250 2.0.0 Ok',
    smtp_code: 250,
    enhanced_status: '2.0.0',
    transcript,
  })
}

/** Text that names its message everywhere, so that a piece of it is recognised wherever it is left. */
const body = (n: number, size: number): Uint8Array => Buffer.alloc(size, `body-of-${n}; `)
