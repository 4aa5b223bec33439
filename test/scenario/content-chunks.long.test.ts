import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ConflictError, StorageFullError, type Database, type Statement } from '../../src/platform/store/database.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** Nine chunks: more than one commit may hold. */
const text = `${'x'.repeat(76)}\r\n`.repeat(28_000)
const raw = (line = '') => `From: app@sender.example\r\nTo: ann@rcpt.example\r\nSubject: large\r\n${line}\r\n${text}`

let relay: TestRelay
let db: Database
let write: Database['write']
/** A live key that may send from another domain only. */
let foreign: string
/** An email with a recipient that it did not reach. */
let failed: string

beforeAll(async () => {
  relay = await startTestRelay()
  const { db: store, accounts, apiKeys, sendingDomains } = relay.relay.services
  const accountId = accounts.findAccount('test')?.id ?? ''
  const { id: domainId } = await sendingDomains.add(accountId, 'other.example')
  foreign = (await apiKeys.create({ accountId, name: 'foreign', permission: 'sending_access', domainId })).token
  db = store
  write = store.write
  failed = await relay.send('suppressed@simulator.test', { text, html: null })
})
afterAll(() => relay.stop())
beforeEach(async () => {
  db.write = write
  // One failure is enough to see.
  await db.write([{ sql: 'delete from content where message_id in (select message_id from upload)' }, { sql: 'delete from upload' }])
})

interface Knock {
  token?: string
  idempotencyKey?: string
}

type Said = { status: number; text: string }

async function post(path: string, body: string | FormData, headers: Record<string, string>, { idempotencyKey }: Knock): Promise<Said> {
  const response = await fetch(relay.baseUrl + path, {
    method: 'POST',
    headers: {
      ...headers,
      ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    },
    body,
  })
  return { status: response.status, text: await response.text() }
}

const bearer = ({ token = relay.token }: Knock) => ({ authorization: `Bearer ${token}` })
const basic = ({ token = relay.token }: Knock) => ({ authorization: `Basic ${Buffer.from(`api:${token}`).toString('base64')}` })
const email = { from: 'app@sender.example', to: 'ann@rcpt.example', subject: 'large', text }

function form(fields: Record<string, string>): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, name === 'message' ? new File([value], 'message') : value)
  return data
}

async function bySmtp({ token = relay.token, idempotencyKey }: Knock): Promise<Said> {
  const client = await SmtpClient.logIn(relay.submissionPort, token)
  const message = raw(idempotencyKey ? `Idempotency-Key: ${idempotencyKey}\r\n` : '')
  const { code, last } = await client.send(message, { from: 'app@sender.example', to: ['ann@rcpt.example'] })
  client.close()
  return { status: code, text: last }
}

const sendGridEmail = {
  personalizations: [{ to: [{ email: 'ann@rcpt.example' }] }],
  from: { email: 'app@sender.example' },
  subject: 'large',
  content: [{ type: 'text/plain', value: text }],
}
const postmarkEmail = { From: 'app@sender.example', To: 'ann@rcpt.example', Subject: 'large', TextBody: text }
const mailgun = '/compat/mailgun/v3/sender.example/messages'

const doors: [name: string, send: (knock: Knock) => Promise<Said>][] = [
  ['SMTP', bySmtp],
  ['the API', (knock) => post('/api/emails', JSON.stringify(email), bearer(knock), knock)],
  ['a batch', (knock) => post('/api/emails/batch', JSON.stringify([email, email]), bearer(knock), knock)],
  ['resending', (knock) => post(`/api/emails/${failed}/resend`, '', bearer(knock), knock)],
  ['the Mailgun door', (knock) => post(mailgun, form({ from: email.from, to: email.to, subject: 'large', text }), basic(knock), knock)],
  ['the Mailgun door for whole messages', (knock) => post(`${mailgun}.mime`, form({ to: email.to, message: raw() }), basic(knock), knock)],
  ['the SendGrid door', (knock) => post('/compat/sendgrid/v3/mail/send', JSON.stringify(sendGridEmail), bearer(knock), knock)],
  [
    'the Postmark door',
    (knock) =>
      post('/compat/postmark/email', JSON.stringify(postmarkEmail), { 'x-postmark-server-token': knock.token ?? relay.token }, knock),
  ],
]

/** Clients of these send the header fields of the email where the key would be. */
const isKeyless = (name: string): boolean => name === 'the SendGrid door' || name === 'the Postmark door'

/** The contents by message, with their sizes, and the messages that count as not complete. */
async function stored(): Promise<{ contents: unknown[]; uploads: unknown[] }> {
  const [contents, uploads] = await Promise.all([
    db.read('select message_id, count(*) as chunks, sum(length(bytes)) as size from content group by message_id order by message_id'),
    db.read('select message_id from upload'),
  ])
  return { contents, uploads }
}

const makesMessage = (batch: Statement[]): boolean => batch.some(({ sql }) => /^insert into message\b(?!_)/.test(sql))
const storesContent = (batch: Statement[]): boolean => batch.some(({ sql }) => sql.startsWith('insert into content'))

/** Has the store refuse the batches that this is true of. */
function failing(isMeant: (batch: Statement[]) => boolean, error: Error): void {
  db.write = (batch, options) => (isMeant(batch) ? Promise.reject(error) : write.call(db, batch, options))
}

describe.each(doors)('%s leaves nothing behind', (name, send) => {
  /** Runs `send` and expects it to be refused, with what is stored as it was before. */
  async function refused(knock: Knock = {}): Promise<Said> {
    const before = await stored()
    const answer = await send(knock)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(await stored()).toEqual(before)
    return answer
  }

  test('where the key may not send this', async () => {
    await refused({ token: foreign })
  })

  test('where the message itself cannot be written', async () => {
    for (const error of [new StorageFullError(), new Error('nobody knows'), new ConflictError()]) {
      failing(makesMessage, error)
      await refused()
    }
    failing(makesMessage, new ConflictError('idempotency'))
    await refused({ idempotencyKey: crypto.randomUUID() })
  })

  test.each([0, 1])('where %s pieces of its content can be written', async (pieces) => {
    for (const error of [new StorageFullError(), new Error('nobody knows')]) {
      let left = pieces
      failing((batch) => storesContent(batch) && left-- <= 0, error)
      await refused()
    }
  })

  if (!isKeyless(name)) {
    test('where it was taken before, with the same key or another body', async () => {
      const idempotencyKey = crypto.randomUUID()
      expect((await send({ idempotencyKey })).status).toBeLessThan(300)
      const before = await stored()
      expect((await send({ idempotencyKey })).status).toBeLessThan(300)
      expect(await stored()).toEqual(before)
      await db.write([{ sql: "update idempotency set fingerprint = 'other' where key = :idempotencyKey", params: { idempotencyKey } }])
      await refused({ idempotencyKey })
    })

    test('where two come with the same key at once', async () => {
      const idempotencyKey = crypto.randomUUID()
      const before = (await stored()).contents.length
      const statuses = (await Promise.all([send({ idempotencyKey }), send({ idempotencyKey })])).map(({ status }) => status)
      expect(Math.min(...statuses)).toBeLessThan(300)
      expect(
        await db.read('select count(*) as n from content c where not exists (select 1 from message m where m.id = c.message_id)'),
      ).toEqual([{ n: 0 }])
      expect((await stored()).uploads).toEqual([])
      expect((await stored()).contents.length).toBeGreaterThan(before)
    })
  }

  test('and keeps what may have been taken: only the answer was lost', async () => {
    const before = await stored()
    db.write = async (batch, options) => {
      const written = await write.call(db, batch, options)
      if (makesMessage(batch)) throw new Error('nobody knows')
      return written
    }
    expect((await send({})).status).toBeGreaterThanOrEqual(400)
    const { contents, uploads } = await stored()
    expect(uploads).toEqual([])
    expect(contents.length).toBeGreaterThan(before.contents.length)
    const short = await db.read(
      `select m.id from message m where (select coalesce(sum(length(c.bytes)), 0) from content c where c.message_id = m.id) <> m.size`,
    )
    expect(short).toEqual([])
  })
})

test('a client that leaves amid its message leaves nothing behind', async () => {
  const before = await stored()
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  await client.pipeline(['MAIL FROM:<app@sender.example>', 'RCPT TO:<ann@rcpt.example>', 'DATA'])
  client.write(raw())
  await expect.poll(async () => (await stored()).uploads).toHaveLength(1)
  client.close()
  await expect.poll(stored).toEqual(before)
})

test('what a crash left of a message is gone after the next start, and nothing else', async () => {
  const before = await stored()
  const bytes = new Uint8Array(1000)
  for (const id of ['em_a', 'em_b']) {
    await db.write([{ sql: 'insert into upload (message_id) values (:id)', params: { id } }])
    const chunk = (number: number) => ({
      sql: 'insert into content (message_id, chunk, bytes) values (:id, :number, :bytes)',
      params: { id, number, bytes },
    })
    await db.write(Array.from({ length: 100 }, (_, number) => chunk(number)))
  }
  await relay.restart()
  db = relay.relay.services.db
  write = db.write
  expect(await stored()).toEqual(before)
})
