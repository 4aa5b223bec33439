import { statSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { openCommandServices } from '../../src/clients/command/open-command-services.ts'
import { columnsIn, storedTables } from '../../src/upkeep/erasure/stored-data.ts'
import { silentLog } from '../../src/platform/log.ts'
import { Retention } from '../../src/mail/message/retention.ts'
import { searchIndex } from '../../src/readers/search/search-index.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { databaseFile } from '../../src/platform/store/sqlite/data-directory.ts'
import { requireFiles, type StoreFiles } from '../../src/platform/store/store.ts'
import { Upkeep } from '../../src/platform/store/upkeep.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { livedRelay } from '../support/relay-life.ts'
import { composeDsn, returnMail } from '../support/returned-mail.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { tracesIn } from '../support/traces.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const ann = 'Ann.Lee+shop@rcpt.example'
const hour = 3_600_000

async function startRelay() {
  const host = '127.0.3.1'
  const mx = await startFakeMx({
    host,
    on: {
      rcpt: (address) =>
        address.startsWith('later') ? '451 4.7.1 Later' : address.startsWith('gone') ? `550 5.1.1 ${address} is unknown here` : undefined,
    },
  })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true' },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
  )
  onTestFinished(() => relay.stop())
  return { relay, mx }
}

const reaches = (relay: TestRelay, id: string, address: string, state: string): Promise<void> =>
  expect.poll(async () => (await relay.recipients(id))[address]?.status).toBe(state)

async function erase(relay: TestRelay, email: string): Promise<any> {
  const { status: code, body } = await relay.call('POST', '/api/erasures', { email })
  expect(code).toBe(202)
  let erasure: any
  await expect.poll(async () => (erasure = (await relay.call('GET', `/api/erasures/${body.id}`)).body).status).toBe('done')
  return erasure
}

const filesOf = ({ relay }: TestRelay): StoreFiles => requireFiles(relay.services.files, 'backup')

const traces = ({ relay }: TestRelay, texts: string[]): Promise<string[]> => tracesIn(relay.services, texts)

/** How often a text that is kept is found: in the file and in a backup, or in the rows. */
const placesOf = ({ relay }: TestRelay): number => (relay.services.files === null ? 1 : 2)

/** Nothing is in hand, and webhooks have all events. */
const isQuiet = ({ relay, clock }: TestRelay): Promise<void> =>
  expect
    .poll(
      () =>
        relay.services.db.read(
          `select id from recipient where owner is not null
         union all select id from webhook_delivery where state = 'attempting' or next_attempt_at <= :now
         union all select name from cursor where name = 'webhook' and position < (select max(seq) from event)
                     and exists (select 1 from webhook where status = 'enabled')`,
          { now: clock.now() },
        ),
      { timeout: 90_000 },
    )
    .toEqual([])

const settled = ({ relay }: TestRelay): Promise<void> =>
  expect.poll(() => relay.services.db.read("select id from returned_mail where state = 'received'")).toEqual([])

test('after an erasure neither the rows nor the files of the database nor a backup have a fragment of the address or of what was sent to it', async () => {
  const { relay, mx } = await startRelay()
  const receiver = await startReceiver(status(200, {}, `thank you, ${ann}`))
  await relay.call('POST', '/api/webhooks', { url: receiver.url, payload: 'extended' })
  const sent = await relay.send(ann, {
    subject: 'Subject for somebody',
    html: `<p>Words for somebody, ${'who reads them with pleasure. '.repeat(3_000)}</p>`,
    tags: [{ name: 'kind', value: 'letter' }],
    metadata: { customer: ann, link: `https://a.example/?to=${encodeURIComponent(ann)}` },
  })
  await reaches(relay, sent, ann, 'delivered')
  const both = await relay.send([`Ann Lee <${ann}>`, 'bob@rcpt.example'], { subject: `For ${ann} and others`, text: 'Words for both' })
  await reaches(relay, both, 'bob@rcpt.example', 'delivered')
  const bounced = await relay.send('gone.ann@rcpt.example')
  await reaches(relay, bounced, 'gone.ann@rcpt.example', 'bounced')
  const later = { scheduled_at: new Date(relay.clock.now() + hour).toISOString() }
  const scheduled = await relay.send(ann, { ...later, text: 'Words to come' })
  const email = { from: 'app@sender.example', to: ann, subject: 'once', text: 'once' }
  for (const key of ['key-1', `welcome-${ann}`]) await relay.call('POST', '/api/send', email, { 'idempotency-key': key })
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const header = `From: app@sender.example\r\nTo: "Lee, Ann" <${ann}>\r\nSubject: by SMTP\r\n\r\n`
  expect((await client.send(`${header}Words by SMTP`, { from: 'app@sender.example', to: ['bob@rcpt.example'] })).code).toBe(250)
  client.close()
  await isQuiet(relay)
  const { mailFrom } = mx.messages.find(({ rcptTo }) => rcptTo[0] === ann)!
  await returnMail(relay.returnPathPort, mailFrom, [composeDsn({ recipient: ann, diagnostic: `550 5.1.1 <${ann}> unknown` })])
  await settled(relay)
  await isQuiet(relay)
  const hers = [
    ann,
    'Ann.Lee+shop',
    'Words for somebody',
    'who reads them',
    'Subject for somebody',
    'Words for both',
    'Words to come',
    'Words by SMTP',
  ]
  // Of most of her mail the entries for searches are there, of the last not yet.
  const { db } = relay.relay.services
  await searchIndex({ db, log: silentLog }).keepUp()
  const last = await relay.send(ann, { ...later, text: 'Words to come' })
  expect((await traces(relay, hers)).length).toBeGreaterThanOrEqual(placesOf(relay) * hers.length)

  const erasure = await erase(relay, ann.toLowerCase())
  expect(erasure).toMatchObject({
    object: 'erasure',
    status: 'done',
    erased: { recipients: 6, canceled_recipients: 1, contents_waiting: 0, suppressions: 1, idempotency_keys: 2 },
  })
  for (const thing of ['emails', 'contents', 'events', 'attempts', 'webhook_deliveries', 'reports'])
    expect(erasure.erased[thing], thing).toBeGreaterThan(0)
  await searchIndex({ db, log: silentLog }).keepUp()
  expect(await traces(relay, hers)).toEqual([])
  const found = async (address: string): Promise<string[]> =>
    (await relay.call('GET', `/api/emails?to=${address}`)).body.data.map(({ id }: { id: string }) => id)
  expect(await found(encodeURIComponent(ann))).toEqual([])
  const [row] = await db.read<{ forward_path: string }>('select forward_path from recipient where message_id = :sent', { sent })
  expect(await found(row?.forward_path ?? '')).toEqual(expect.arrayContaining([sent, scheduled, last]))
  // Mail for the operator is not the account's: she has written to postmaster.
  await returnMail(relay.returnPathPort, 'postmaster@relay.example', [
    `From: Ann Lee <${ann}>\r\nSubject: Who are you?\r\n\r\nWords of hers`,
  ])
  await settled(relay)
  await erase(relay, ann)
  expect(await traces(relay, ['Words of hers', ann])).toHaveLength(2 * placesOf(relay))
  const everywhere = await runCommand({ argv: ['erase', ann], cwd: '/' }, relay.relay.services)
  expect(everywhere.stdout).toMatch(/^contents +1$/m)
  expect(await traces(relay, ['Words of hers', ann])).toEqual([])

  expect((await relay.call('GET', `/api/emails/${sent}`)).body).toMatchObject({
    html: null,
    subject: '',
    tags: [],
    metadata: {},
    status: 'bounced',
  })
  expect((await relay.call('GET', `/api/emails/${scheduled}`)).body).toMatchObject({ status: 'canceled' })
  const { body: shared } = await relay.call('GET', `/api/emails/${both}`)
  expect(shared).toMatchObject({ to: [expect.stringMatching(/^[0-9a-f]{40}@erased\.invalid$/), 'bob@rcpt.example'], text: null })
  expect(shared.subject).toMatch(/^For [0-9a-f]{40}@erased\.invalid and others$/)
  // Others lose nothing but what names her.
  expect((await relay.call('GET', `/api/emails/${bounced}`)).body).toMatchObject({
    html: expect.stringContaining('Hello'),
    subject: 'Hello',
  })
  expect((await relay.events(both)).filter((type) => type === 'email.delivered')).toHaveLength(2)
  // What comes back now counts, and is forgotten.
  await returnMail(relay.returnPathPort, mailFrom, [
    composeDsn({ recipient: ann, diagnostic: `550 5.1.1 <${ann}> unknown`, original: `X-Original: ${ann}` }),
  ])
  await settled(relay)
  await relay.relay.services.upkeep?.overwriteAll()
  expect(await traces(relay, [ann])).toEqual([])
  // A second time there is nothing left to erase.
  expect(Object.values((await erase(relay, ann)).erased as Record<string, number>).every((count) => count === 0)).toBe(true)
}, 180_000)

test('what retention has removed can be read nowhere, and the file gets smaller', async () => {
  const { relay } = await startRelay()
  const { db, clock } = { ...relay.relay.services, clock: relay.clock }
  const recipients = Array.from({ length: 24 }, (_, n) => `person-${n}x@rcpt.example`)
  for (const to of recipients) await relay.send(to, { subject: `Subject of ${to}`, text: `Words for ${to}. `.repeat(10_000) })
  await isQuiet(relay)
  await filesOf(relay).upkeep.emptyLog()
  const { dataDir } = relay.relay.services.config
  const size = statSync(databaseFile(dataDir)).size
  clock.advance(100 * 24 * hour)
  const last = await relay.send('bob@rcpt.example')
  await reaches(relay, last, 'bob@rcpt.example', 'delivered')
  await new Retention(db, { contentMs: 7 * 24 * hour, eventMs: 90 * 24 * hour }).sweep(clock.now())
  await new Upkeep(filesOf(relay).upkeep).run()
  await filesOf(relay).upkeep.emptyLog()
  expect(
    await traces(
      relay,
      recipients.flatMap((to) => [to, `Subject of ${to}`, `Words for ${to}`]),
    ),
  ).toEqual([])
  expect(statSync(databaseFile(dataDir)).size).toBeLessThan(size * 0.75)
  expect((await relay.call('GET', `/api/emails/${last}`)).body).toMatchObject({ status: 'delivered' })
})

test('a suppression holds without the address: when mail is accepted, when it is due, when a list is imported', async () => {
  const { relay } = await startRelay()
  const { db } = relay.relay.services
  await relay.call('POST', '/api/suppressions', { email: ann, reason: `She asked us: ${ann}` })
  await erase(relay, ann)
  expect(await traces(relay, [ann])).toEqual([])
  const { body: list } = await relay.call('GET', '/api/suppressions')
  expect(list.data).toMatchObject([{ email: expect.stringMatching(/@erased\.invalid$/), origin: 'manual', reason: null }])
  for (const form of [ann, ann.toLowerCase()]) {
    const id = await relay.send(form)
    expect(await relay.recipients(id)).toMatchObject({ [form]: { status: 'suppressed' } })
  }
  // To suppress her once more does not bring the address back.
  await relay.call('POST', '/api/suppressions', { emails: [ann, 'bob@rcpt.example'] })
  expect(await db.read("select address from suppression where address like '%lee%'")).toEqual([])
  expect((await relay.call('GET', '/api/suppressions')).body.data).toHaveLength(2)
  expect((await relay.call('GET', `/api/suppressions/${ann}`)).body).toMatchObject({ origin: 'manual' })
  expect((await relay.call('DELETE', `/api/suppressions/${ann}`)).status).toBe(200)
  // It comes on the list while mail to it waits.
  const waiting = await relay.send(ann, { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await db.write([
    {
      sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, created_at)
            select 'sup_1', account_id, :address, 'complaint', '', 0, 0 from message where id = :waiting`,
      params: { waiting, address: list.data[0].email },
    },
  ])
  relay.clock.advance(hour)
  await reaches(relay, waiting, ann, 'suppressed')
})

test('content that others wait for stays until they have it, shown to nobody', async () => {
  const { relay, mx } = await startRelay()
  const id = await relay.send([ann, 'later@rcpt.example'], { text: 'Words for both' })
  await reaches(relay, id, 'later@rcpt.example', 'deferred')
  await reaches(relay, id, ann, 'delivered')
  expect((await erase(relay, ann)).erased).toMatchObject({ contents: 0, contents_waiting: 1 })
  expect((await relay.call('GET', `/api/emails/${id}`)).body).toMatchObject({ text: null })
  const { erasures } = relay.relay.services
  await erasures.resume()
  expect(await traces(relay, ['Words for both'])).not.toEqual([])
  relay.clock.advance(72 * hour)
  await reaches(relay, id, 'later@rcpt.example', 'bounced')
  await erasures.resume()
  await relay.relay.services.files?.upkeep.emptyLog()
  expect(await traces(relay, ['Words for both', ann])).toEqual([])
  expect(mx.messages).toHaveLength(1)
})

test('of one account: others keep what they have, and a sandbox key erases in the sandbox alone', async () => {
  const { relay } = await startRelay()
  const { accounts, apiKeys, sendingDomains } = relay.relay.services
  const other = await accounts.create('other', 'enterprise')
  await sendingDomains.verifyManually((await sendingDomains.add(other.id, 'other.example')).id)
  const keyOf = async (accountId: string, sandbox = false) => ({
    authorization: `Bearer ${(await apiKeys.create({ accountId, name: 'k', permission: 'full_access', sandbox })).token}`,
  })
  const theirs = await keyOf(other.id)
  const inSandbox = await keyOf(accounts.getAccount('test').id, true)
  const email = { from: 'app@other.example', to: 'delivered@simulator.test', subject: 's', text: 't' }
  const kept = (await relay.call('POST', '/api/send', email, theirs)).body.id
  const tested = (await relay.call('POST', '/api/send', { ...email, from: 'app@sender.example' }, inSandbox)).body.id
  const live = await relay.send('delivered@simulator.test')
  await isQuiet(relay)
  const { body } = await relay.call('POST', '/api/erasures', { email: 'delivered@simulator.test' }, inSandbox)
  const { erasures, db } = relay.relay.services
  await erasures.finished(body.id)
  const addressed = async (id: string) =>
    (await db.read<{ forward_path: string }>('select forward_path from recipient where message_id = :id', { id }))[0]!.forward_path
  expect(await addressed(tested)).toMatch(/@erased\.invalid$/)
  expect([await addressed(live), await addressed(kept)]).toEqual(['delivered@simulator.test', 'delivered@simulator.test'])
  await erase(relay, 'delivered@simulator.test')
  expect(await addressed(live)).toMatch(/@erased\.invalid$/)
  expect(await addressed(kept)).toBe('delivered@simulator.test')
  expect((await relay.call('GET', `/api/erasures/${body.id}`, undefined, theirs)).status).toBe(404)
  expect((await relay.call('POST', '/api/erasures', { email: ann, everywhere: true })).status).toBe(403)
  expect((await relay.call('GET', '/api/erasures')).body.data).toHaveLength(2)
})

test('an erasure that was cut off goes on after the next start, and mail in hand is waited for', async () => {
  const { relay, mx } = await startRelay()
  const ids = [await relay.send(ann, { text: 'Words for somebody' }), await relay.send(ann)]
  for (const id of ids) await reaches(relay, id, ann, 'delivered')
  await isQuiet(relay)
  const { erasures, db } = relay.relay.services
  // As where the process ended: nobody works on it, and half of it is done.
  await db.write([{ sql: 'update recipient set owner = (select name from node) where message_id = :id', params: { id: ids[1]! } }])
  const { body } = await relay.call('POST', '/api/erasures', { email: ann })
  await expect.poll(() => db.read("select id from recipient where forward_path like '%@erased.invalid'")).toHaveLength(1)
  expect((await erasures.find(body.id, null))?.finishedAt).toBe(null)
  await relay.restart()
  await relay.relay.services.erasures.resume()
  await relay.relay.services.erasures.finished(body.id)
  expect((await relay.call('GET', `/api/erasures/${body.id}`)).body).toMatchObject({ status: 'done', erased: { recipients: 2 } })
  expect(await traces(relay, [ann, 'Words for somebody'])).toEqual([])
  expect(mx.messages).toHaveLength(2)
})

test('a relay that has done everything forgets everybody it has written to', async () => {
  const lived = await livedRelay()
  const { relay } = lived
  const { services, close } = await openCommandServices(relay.services.config, silentLog)
  onTestFinished(close)
  const rows = await services.db.slowRead<{ address: string }>(
    'select distinct forward_path as address from recipient union select address from suppression',
  )
  const addresses = rows.map(({ address }) => address).filter((address) => address.endsWith('@rcpt.example'))
  expect(addresses.length).toBeGreaterThan(3)
  expect(await tracesIn(services, addresses)).toHaveLength(placesOf(lived) * addresses.length)
  expect(await columnsWith(services.db, addresses)).toEqual([])
  for (const address of addresses) expect((await runCommand({ argv: ['erase', address], cwd: '/' }, services)).exitCode).toBe(0)
  expect(await tracesIn(services, addresses)).toEqual([])
  const [change] = await services.db.slowRead("select * from audit where operation = 'erase' order by id desc limit 1")
  expect(change).toMatchObject({ actor_type: 'command', object_id: expect.stringMatching(/^era_/), fields: '' })
}, 120_000)

/** Columns that erasing leaves alone, and that hold one of these addresses all the same. */
async function columnsWith(db: Database, addresses: string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const [table, { users, none }] of Object.entries(storedTables)) {
    for (const column of [users, none].flatMap(columnsIn)) {
      for (const { value } of await db.slowRead(`select ${column} as value from ${table}`)) {
        const text = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
        if (addresses.some((address) => text.toLowerCase().includes(address.toLowerCase()))) found.add(`${table}.${column}: ${text}`)
      }
    }
  }
  return [...found]
}
