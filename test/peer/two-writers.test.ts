import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { IdempotencyKeys } from '../../src/mail-in/submission/idempotency-keys.ts'
import { Uploads } from '../../src/mail-in/submission/upload.ts'
import { claimReturnedMail } from '../../src/mail-back/feedback/returned-mail-store.ts'
import { holdSuspended } from '../../src/mail-out/queue/put-back.ts'
import { claimDue, claimExpired, moveRecipient } from '../../src/mail-out/queue/queue-store.ts'
import type { Move } from '../../src/mail-out/queue/recipient-state.ts'
import { claimDeliveries, settleDelivery } from '../../src/notify/webhook/webhook-delivery-store.ts'
import { WebhookList } from '../../src/notify/webhook/webhook-list.ts'
import { insertTemplate, type Template } from '../../src/mail/template/template-store.ts'
import { changeUser, deleteUser, demandOtherOperator, shutOutUnlessLast } from '../../src/senders/account/user-changes.ts'
import { MailQuotas } from '../../src/senders/account/mail-quotas.ts'
import type { AccountPolicies } from '../../src/senders/account/account-policies.ts'
import { mailQuota } from '../../src/senders/account/account-policy.ts'
import { fingerprintOf, secretsFrom } from '../../src/senders/account/key-file.ts'
import { KeyRing } from '../../src/senders/account/key-ring.ts'
import { followKey } from '../../src/senders/account/open-secrets.ts'
import { keyChange, knownFingerprint, noteFingerprint, sealAnew, useKey } from '../../src/senders/account/sealed-secrets.ts'
import { HitRecorder } from '../../src/readers/engagement/hit-recorder.ts'
import type { ReaderHit } from '../../src/readers/engagement/reader-hit.ts'
import { SharedHits } from '../../src/readers/engagement/shared-hits.ts'
import type { HitJudgement, HitMessage } from '../../src/readers/tracking/hit.ts'
import { judgeHits } from '../../src/readers/tracking/judge-hits.ts'
import type { DomainReport } from '../../src/mail-back/domain-report/domain-report.ts'
import { insertDomainReport } from '../../src/mail-back/domain-report/domain-report-store.ts'
import { newId } from '../../src/platform/id.ts'
import { ChangeLog } from '../../src/platform/store/change-log.ts'
import { CountedUses } from '../../src/platform/store/counted-uses.ts'
import { LeasedShares } from '../../src/platform/store/leased-shares.ts'
import type { ClaimRange } from '../../src/platform/store/claims.ts'
import { ConflictError, type Database, type Row, type Statement } from '../../src/platform/store/database.ts'
import { createLog, silentLog } from '../../src/platform/log.ts'
import { BuriedError } from '../../src/platform/store/nodes.ts'
import { migrations } from '../../src/platform/store/schema-steps.ts'
import { leasedNode, pass } from '../support/leased-node.ts'
import { postgresSchema } from '../../src/platform/store/postgresql/postgres-dialect.ts'
import { Erasures } from '../../src/upkeep/erasure/erasures.ts'
import { countMail } from '../support/count-mail.ts'
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts'
import { insertAccount, insertQueued } from '../support/queued-mail.ts'
import { settableClock } from '../support/settable-clock.ts'
import { testCore, type TestCore } from '../support/test-core.ts'
import { onPostgres, onSqlite, type TwoWriters } from '../support/two-writers.ts'

/** What is claimed and guarded, by two nodes at once: each in a session of its own on PostgreSQL, and one after the other on SQLite. */
let postgres: PostgresServer

beforeAll(async () => {
  postgres = startPostgres()
  await postgres.run(
    `begin;\n${migrations()
      .map(({ sql }) => postgresSchema(sql))
      .join('\n')}\ncommit;`,
  )
})

afterAll(() => postgres?.stop())

const now = Date.UTC(2026, 10, 28)
const minute = 60_000
const rowsPer = 20

const aBrowser = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  accept: 'text/html',
  'accept-language': 'en',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'sec-fetch-site': 'none',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-user': '?1',
  'sec-ch-ua': '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
  'sec-ch-ua-mobile': '?0',
  'sec-ch-ua-platform': '"Windows"',
}

/** The rows that each of two claims at once was given, as ids. */
async function claimedAtOnce({ atOnce }: TwoWriters, batch: (range: ClaimRange) => Statement[]): Promise<[string[], string[]]> {
  const claim = (owner: string) => async (db: Database) => {
    const [claimed] = await db.write(batch({ owner, now, limit: rowsPer, skip: 0 }))
    return (claimed?.rows ?? []).map(({ id }) => String(id)).toSorted()
  }
  const [first, second] = await atOnce(claim('node_a'), claim('node_b'))
  return [value(first), value(second)]
}

function value<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason
  return result.value
}

async function changed(both: Promise<PromiseSettledResult<unknown>[]>): Promise<void> {
  for (const each of await both) value(each)
}

const webhookList = (core: TestCore) => new WebhookList({ ...core, onEnabled() {} }, { allowHttp: false })

const idsOf = async (db: Database, table: string): Promise<string[]> =>
  (await db.read<Row & { id: string }>(`select id from ${table} order by id`)).map(({ id }) => id)

describe.each([
  ['PostgreSQL', () => onPostgres(postgres.socket, onTestFinished)],
  ['SQLite', () => onSqlite(onTestFinished)],
] as const)('on %s', (engine, open) => {
  test.each([
    ['due', (range: ClaimRange) => claimDue({ destination: 'rcpt.example', account_id: 'acc_1', urgent: 0 }, range), 0],
    ['expired', (range: ClaimRange) => claimExpired('rcpt.example', range), 100 * 60 * minute],
  ] as const)('two claims of mail that is %s get different mail, the oldest first', async (_kind, claim, age) => {
    const writers = await open()
    await insertAccount(writers.a)
    await insertQueued(
      writers.a,
      now - age,
      {},
      Array.from({ length: 3 * rowsPer }, () => ({})),
    )
    const ids = await idsOf(writers.a, 'recipient')
    const claimed = await claimedAtOnce(writers, claim)
    expect(claimed).toEqual([ids.slice(0, rowsPer), ids.slice(rowsPer, 2 * rowsPer)])
  })

  test('what one node has in hand, another does not settle', async () => {
    const { a, atOnce } = await open()
    await insertAccount(a)
    await insertQueued(a, now)
    const [id = ''] = await idsOf(a, 'recipient')
    await a.write([{ sql: `update recipient set owner = 'node_b'`, expect: 1 }])
    const move: Move = { state: 'delivered', dueAt: null, bounce: null, events: [] }
    const last = { text: 'OK', code: 250, enhancedStatus: null }
    const settle = (owner: string) => (db: Database) =>
      db.write([moveRecipient(id, owner, move, { attempted: true, last, nxdomainSince: null, now })])
    const [buried, twice] = [await atOnce(settle('node_a'), settle('node_b')), await atOnce(settle('node_b'), settle('node_b'))]
    expect(buried).toMatchObject([{ reason: expect.any(ConflictError) }, { status: 'fulfilled' }])
    expect(twice).toMatchObject([{ reason: expect.any(ConflictError) }, { reason: expect.any(ConflictError) }])
    expect(await a.read('select attempts, owner from recipient')).toEqual([{ attempts: 1, owner: null }])
  })

  test('two claims of webhook deliveries get different ones, and only who has one settles it', async () => {
    const writers = await open()
    const { a, b } = writers
    await insertAccount(a)
    await insertWebhook(a)
    const ids = Array.from({ length: 3 * rowsPer }, (_row, place) => `whd_${String(place).padStart(3, '0')}`)
    await a.write(ids.map((id) => insertDelivery(id)))
    const claimed = await claimedAtOnce(writers, (range) => claimDeliveries('wh_1', range))
    expect(claimed).toEqual([ids.slice(0, rowsPer), ids.slice(rowsPer, 2 * rowsPer)])
    const [first = ''] = claimed[0]
    await expect(b.write([settleDelivery({ id: first, owner: 'node_b' }, 'success', null)])).rejects.toThrow(ConflictError)
    await a.write([settleDelivery({ id: first, owner: 'node_a' }, 'success', null)])
  })

  test('two claims of returned mail get different mail', async () => {
    const writers = await open()
    const ids = Array.from({ length: 3 * rowsPer }, (_row, place) => `rep_${String(place).padStart(3, '0')}`)
    await writers.a.write(ids.map((id) => insertReturnedMail(id)))
    const source = { by: 'network', name: '192.0.2.0/24' } as const
    const claimed = await claimedAtOnce(writers, (range) => [claimReturnedMail('bounce', source, { ...range, latest: now + minute })])
    expect(claimed).toEqual([ids.slice(0, rowsPer), ids.slice(rowsPer, 2 * rowsPer)])
  })

  test('two attempts at once, of one user or one network, are never more than are allowed', async () => {
    const { a, b, atOnce } = await open()
    const clock = settableClock(now)
    const attemptsAt = (db: Database) => new CountedUses({ db, clock }, { name: 'login', limit: 2, windowMs: minute })
    const attempts = { a: attemptsAt(a), b: attemptsAt(b) }
    await attempts.a.take('network 1', 'ann')
    const waits = (
      await atOnce(
        () => attempts.a.take('network 1', 'bob'),
        () => attempts.b.take('network 2', 'ann'),
      )
    ).map((taken) => value(taken).waitMs)
    expect(waits).toEqual([0, 0])
    const more = (
      await atOnce(
        () => attempts.a.take('network 3', 'cid'),
        () => attempts.b.take('network 4', 'cid'),
      )
    ).map((taken) => value(taken).waitMs)
    expect(more).toEqual([0, 0])
    const refused = (
      await atOnce(
        () => attempts.a.take('network 3', 'dan'),
        () => attempts.b.take('network 3', 'eve'),
      )
    ).map((taken) => value(taken).waitMs)
    expect(refused).toEqual([0, minute])
    expect([await attempts.b.countOf('network 3'), await attempts.a.countOf('eve')]).toEqual([2, 0])
  })

  test('two nodes that accept mail at once, of two accounts in two orders, exceed no quota', async () => {
    const { a, b, atOnce } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const ids = ['acc_1', 'acc_2']
    for (const { policies } of [nodes.a, nodes.b]) for (const id of ids) await policies.change(mailQuota, id, { day: 3 })
    const accept = (db: Database, { quotas }: TestCore, accountIds: string[]) =>
      db.write(accountIds.flatMap((accountId) => quotas.count({ accountId, byDomain: new Map([['dom_1', 2]]) })?.statements ?? []))
    const both = await atOnce(
      (db) => accept(db, nodes.a, ids),
      (db) => accept(db, nodes.b, ids.toReversed()),
    )
    expect(both).toMatchObject([{ status: 'fulfilled' }, { reason: { guard: 'quota' } }])
    expect(await a.read('select owner_id, day_recipients from mail_usage order by owner_id')).toEqual(
      ids.map((id) => ({ owner_id: id, day_recipients: 2 })),
    )
  })

  describe('two nodes that divide a quota', () => {
    async function divided() {
      const { a, b, atOnce } = await open()
      const names = ['node_a', 'node_b']
      for (const name of names) await a.write([{ sql: 'insert into node (name, started_at) values (:name, 0)', params: { name } }])
      const [first, second] = [a, b].map((db, place) => {
        const policies = { of: () => ({ day: 100, month: 'unlimited' }) } as unknown as Pick<AccountPolicies, 'of'>
        const quotas = new MailQuotas({ db, clock: settableClock(now), log: silentLog, policies })
        quotas.join({ self: names[place] ?? '', live: () => names })
        return (recipients: number) => countMail(quotas, db, { accountId: 'acc_1', byDomain: new Map([['dom_1', recipients]]) })
      })
      const sends = [first, second] as [(recipients: number) => Promise<void>, (recipients: number) => Promise<void>]
      for (const send of sends) await send(1)
      const used = () => a.read('select day_recipients from mail_usage where owner_id = :id', { id: 'acc_1' })
      return { sends, atOnce, used }
    }

    test('use their shares without waiting for each other', async () => {
      const { sends, atOnce } = await divided()
      const ended: string[] = []
      const both = await atOnce(
        () => sends[0](1).then(() => ended.push('first')),
        () => sends[1](1).then(() => ended.push('second')),
      )
      both.map(value)
      // The first commits once the second has ended, or waits.
      expect(ended).toEqual(engine === 'PostgreSQL' ? ['second', 'first'] : ['first', 'second'])
    })

    test('exceed it not, when one takes back the share that the other is using', async () => {
      const { sends, atOnce, used } = await divided()
      const both = await atOnce(
        () => sends[0](5),
        () => sends[1](94),
      )
      expect(both).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'daily_quota_exceeded' } }])
      await sends[1](93)
      expect(await used()).toEqual([{ day_recipients: 100 }])
    })
  })

  test('two nodes that ask at once for the last parts of a limit are given no more than is left', async () => {
    const { a, b, atOnce } = await open()
    const clock = settableClock(now)
    const windowAt = (db: Database, self: string) => {
      const shares = new LeasedShares({ db, clock })
      shares.join({ self, live: () => ['node_a', 'node_b'], freeBuried() {} })
      return shares.windows('requests', { windowMs: minute, isKept: true }).of('acc_1')
    }
    const windows = [windowAt(a, 'node_a'), windowAt(b, 'node_b')] as const
    for (let taken = 0; taken < 7; taken += 2) for (const window of windows) expect(await window.take(9)).toBe(true)
    const last = await atOnce(
      async () => windows[0].take(9),
      async () => windows[1].take(9),
    )
    expect(last.map(value)).toEqual([true, false])
    expect(await a.read('select cast(sum(share) as bigint) as share from limit_share')).toEqual([{ share: 9 }])
  })

  test('two changes of an account, an API key, a webhook or a domain at once never undo each other', async () => {
    const { a, b, atOnce } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const { id } = await nodes.a.accounts.create('one', 'free')
    await nodes.b.accounts.load()
    const key = await nodes.a.apiKeys.create({ accountId: id, name: 'old', permission: 'sending_access' })
    const domain = await nodes.a.sendingDomains.add(id, 'example.com')
    const hooks = { a: webhookList(nodes.a), b: webhookList(nodes.b) }
    const hook = await hooks.a.create({ accountId: id, sandbox: false }, { url: 'https://app.example/old' })
    for (const part of [nodes.b.apiKeys, nodes.b.sendingDomains, hooks.b]) await part.load()

    await changed(
      atOnce(
        () => nodes.a.accounts.change(id, { status: 'suspended' }),
        () => nodes.b.accounts.change(id, { plan: 'pro' }),
      ),
    )
    expect(await a.read('select status, plan from account where id = :id', { id })).toEqual([{ status: 'suspended', plan: 'pro' }])
    await changed(
      atOnce(
        () => nodes.a.apiKeys.change(key.id, { name: 'new' }),
        () => nodes.b.apiKeys.change(key.id, { domainId: domain.id }),
      ),
    )
    expect(await a.read('select name, domain_id from api_key')).toEqual([{ name: 'new', domain_id: domain.id }])
    await changed(
      atOnce(
        () => hooks.a.change(hook, hook.id, { status: 'disabled' }),
        () => hooks.b.change(hook, hook.id, { url: 'https://app.example/new' }),
      ),
    )
    expect(await a.read('select status, url from webhook')).toEqual([{ status: 'disabled', url: 'https://app.example/new' }])
    await changed(
      atOnce(
        () => nodes.a.sendingDomains.update(domain.id, { openTracking: true }),
        () => nodes.b.sendingDomains.verifyManually(domain.id),
      ),
    )
    expect(await a.read('select open_tracking, status from domain where id = :id', { id: domain.id })).toEqual([
      { open_tracking: 1, status: 'verified' },
    ])
  })

  test('a domain that another removes cannot be changed any more', async () => {
    const { a, b, atOnce } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const { id } = await nodes.a.accounts.create('one', 'free')
    await nodes.b.accounts.load()
    const domain = await nodes.a.sendingDomains.add(id, 'example.com')
    await nodes.b.sendingDomains.load()
    const both = await atOnce(
      () => nodes.a.sendingDomains.remove(domain.id),
      () => nodes.b.sendingDomains.update(domain.id, { openTracking: true }),
    )
    expect(both).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'not_found' } }])
  })

  test('of two rotations of the secret of a webhook at once, one is refused', async () => {
    const { a, b, atOnce } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const { id } = await nodes.a.accounts.create('one', 'free')
    const hooks = { a: webhookList(nodes.a), b: webhookList(nodes.b) }
    const hook = await hooks.a.create({ accountId: id, sandbox: false }, { url: 'https://app.example/old' })
    await hooks.b.load()
    const overlap = { overlapMs: minute, force: false }
    const rotations = await atOnce(
      () => hooks.a.rotateSecret(hook, hook.id, overlap),
      () => hooks.b.rotateSecret(hook, hook.id, overlap),
    )
    expect(rotations).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'rotation_in_progress' } }])
    await hooks.b.rotateSecret(hook, hook.id, { overlapMs: minute, force: true })
    await hooks.a.load()
    expect(hooks.a.getWebhook(hook, hook.id).previousSecret).toBe(value(rotations[0]).secret)
  })

  test.each([
    ['owner', 'acc_1', 0],
    ['operator', 'acc_2', 1],
  ] as const)('two that take the last %s from each other leave one', async (_role, accountOfSecond, operator) => {
    const { a, atOnce } = await open()
    await a.write(['acc_1', 'acc_2'].map((id) => insertAccountOf(id)))
    await a.write([insertOwner('usr_1', 'acc_1', operator), insertOwner('usr_2', accountOfSecond, operator)])
    const change = operator === 0 ? ({ role: 'member' } as const) : { operator: false }
    const [first, second] = await atOnce(
      (db) => db.write([changeUser('usr_1', change)]),
      (db) => db.write([operator === 0 ? shutOutUnlessLast('usr_2') : changeUser('usr_2', change)]),
    )
    expect([first, second]).toMatchObject([{ status: 'fulfilled' }, { reason: expect.any(ConflictError) }])
  })

  test('two operators who remove each other, one with the whole account, leave one', async () => {
    const { a, atOnce } = await open()
    await a.write(['acc_1', 'acc_2'].map((id) => insertAccountOf(id)))
    await a.write([insertOwner('usr_1', 'acc_1', 1), insertOwner('usr_2', 'acc_2', 1), insertOwner('usr_3', 'acc_1', 0)])
    const [first, second] = await atOnce(
      (db) => db.write([demandOtherOperator('acc_2'), ...deleteUser('usr_2')]),
      (db) => db.write([shutOutUnlessLast('usr_1'), ...deleteUser('usr_1')]),
    )
    expect([first, second]).toMatchObject([{ status: 'fulfilled' }, { reason: expect.any(ConflictError) }])
  })

  test('an account is not removed while another node accepts its mail', async () => {
    const { a, b, atOnce } = await open()
    await insertAccount(a)
    const accounts = (await testCore({ over: b, now })).accounts
    const [accepted, removed] = await atOnce(
      (db) => insertQueued(db, now),
      () => accounts.remove('acc_1', now - minute),
    )
    expect([accepted, removed]).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'invalid_state' } }])
  })

  test('two at once do not exceed the limits of webhooks and templates of an account', async () => {
    const { a, b, atOnce } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const { id } = await nodes.a.accounts.create('one', 'free')
    const hooks = { a: webhookList(nodes.a), b: webhookList(nodes.b) }
    const scope = { accountId: id, sandbox: false }
    for (let count = 1; count < 50; count++) await hooks.a.create(scope, { url: 'https://app.example/hook' })
    const add = (list: WebhookList) => () => list.create(scope, { url: 'https://app.example/hook' })
    expect(await atOnce(add(hooks.a), add(hooks.b))).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'validation_error' } }])

    const template = (templateId: string) => (db: Database) =>
      db.write([insertTemplate({ id: templateId, accountId: id, name: 'x', alias: null, versionId: 'tv', createdAt: now } as Template, 1)])
    expect(await atOnce(template('tpl_1'), template('tpl_2'))).toMatchObject([
      { status: 'fulfilled' },
      { reason: expect.any(ConflictError) },
    ])
  })

  test('two at once do not exceed the limit of domains of an account', async () => {
    const { a, b, atOnce } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const { id } = await nodes.a.accounts.create('one', 'free')
    await nodes.b.accounts.load()
    await nodes.a.sendingDomains.add(id, 'first.example')
    const [first = {}] = await a.read('select * from domain')
    const names = Object.keys(first)
    const another = `insert into domain (${names.join()}) values (${names.map((name) => `:${name}`).join()})`
    await a.write(
      Array.from({ length: 998 }, (_row, place) => ({
        sql: another,
        params: { ...first, id: `dom_${place}`, name: `d${place}.example` },
      })),
    )
    const both = await atOnce(
      () => nodes.a.sendingDomains.add(id, 'second.example'),
      () => nodes.b.sendingDomains.add(id, 'third.example'),
    )
    const refusal = { code: 'validation_error', message: 'An account can have at most 1000 domains.' }
    // On SQLite the one whose keys are made first comes first.
    expect(both.toSorted((one, other) => one.status.localeCompare(other.status))).toMatchObject([
      { status: 'fulfilled' },
      { reason: refusal },
    ])
    await nodes.a.sendingDomains.remove(nodes.a.sendingDomains.get(id, 'first.example').id)
    await nodes.b.sendingDomains.add(id, 'fourth.example')
  })

  test('two at once do not exceed the limits of erasures under way, and of reports on a domain in a day', async () => {
    const { a, b, atOnce } = await open()
    const erasuresOf = async (db: Database, owner: string) => {
      const erasures = new Erasures({ ...(await testCore({ over: db, now })), owner, upkeep: { overwriteAll: async () => {} } })
      erasures.stop()
      return erasures
    }
    await insertAccount(a)
    const nodes = { a: await erasuresOf(a, 'node_a'), b: await erasuresOf(b, 'node_b') }
    const begin = (erasures: Erasures) => () =>
      erasures.begin({ address: 'ann@x.example', localPart: 'ann', domain: 'x.example' }, { accountId: 'acc_1', sandboxOnly: false })
    for (let count = 1; count < 100; count++) await begin(nodes.a)()
    expect(await atOnce(begin(nodes.a), begin(nodes.b))).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'rate_limit_exceeded' } },
    ])

    const store = (reportId: string) => (db: Database) =>
      db.write(insertDomainReport(domainReport(reportId), { ...arrival, id: newId('drp', now) }, ours))
    await store('r_0')(a)
    await a.write([{ sql: 'update domain_report set row_count = 4985', expect: 1 }])
    expect(await atOnce(store('r_1'), store('r_2'))).toMatchObject([{ status: 'fulfilled' }, { reason: expect.any(ConflictError) }])
  })

  test('mail of a suspended account is not held while another node resumes the account', async () => {
    const { a, b, atOnce } = await open()
    await insertAccount(a, 'suspended')
    await insertQueued(a, now)
    const [id = ''] = await idsOf(a, 'recipient')
    await b.write([{ sql: `update recipient set owner = 'node_b'`, expect: 1 }])
    const { accounts } = await testCore({ over: a, now })
    const [resumed, held] = await atOnce(
      () => accounts.change('acc_1', { status: 'active' }),
      (db) => db.write([holdSuspended(id, 'node_b', { accountId: 'acc_1', dueAt: now + minute, reason: 'suspended' })]),
    )
    expect([resumed, held]).toMatchObject([{ status: 'fulfilled' }, { reason: expect.any(ConflictError) }])
  })

  test('a secret that is changed while all are sealed with a new key stays changed', async () => {
    const { a, atOnce } = await open()
    const core = await testCore({ over: a, now })
    const { id } = await core.accounts.create('one', 'free')
    const [old, newer] = [Buffer.alloc(32), Buffer.alloc(32, 1)]
    const list = webhookList({ ...core, secrets: new KeyRing(secretsFrom(old, newer), null) })
    const hook = await list.create({ accountId: id, sandbox: false }, { url: 'https://app.example/hook' })
    const both = secretsFrom(newer, old)
    const [rotated] = await atOnce(
      () => list.rotateSecret(hook, hook.id, { overlapMs: minute, force: false }),
      (db) => sealAnew(db, both),
    )
    const [row] = await a.read<Row & { secret: Uint8Array }>('select secret from webhook')
    expect(Buffer.from(both.open(row!.secret, `webhook ${hook.id}`)).toString()).toBe(value(rotated).secret)
  })

  test('where a node joins without a new key, that is not taken into use, or the node finds it in use once it has joined', async () => {
    const { a, b, atOnce } = await open()
    const [ofOld, ofNewer] = [secretsFrom(Buffer.alloc(32)), secretsFrom(Buffer.alloc(32, 1))]
    const [old, newer] = [fingerprintOf(ofOld), fingerprintOf(ofNewer)]
    await a.write([noteFingerprint(old)])
    await leasedNode(a, { newestKey: newer })
    const changes = await ChangeLog.open({ db: b, clock: settableClock() })
    followKey(new KeyRing(ofOld, old), { db: b, changes, config: { dataDir: 'data', secretKeyFile: 'secret.key' } })
    const [joined, used] = await atOnce(
      () => leasedNode(a, { newestKey: old, isWatching: false }),
      (db) => db.write([...changes.note(keyChange, newer), useKey(newer, { before: old })]),
    )
    expect(joined.status).toBe('fulfilled')
    const isUsed = used.status === 'fulfilled'
    expect(await knownFingerprint(b)).toBe(isUsed ? newer : old)
    const found = await changes.caughtUp().then(
      () => 'nothing new',
      (error: Error) => error.message,
    )
    expect(found).toMatch(isUsed ? 'is from before the last "sterna rotate secret-key"' : 'nothing new')
    if (!isUsed) expect(used).toMatchObject({ reason: expect.any(ConflictError) })
  })

  describe('opens and clicks', () => {
    const tracked = async () => {
      const both = await open()
      await insertAccount(both.a)
      await insertQueued(both.a, now)
      await both.a.write([{ sql: `update message set tracking = 'opens,clicks'`, expect: 1 }])
      const [recipientId = ''] = await idsOf(both.a, 'recipient')
      return { ...both, recipientId }
    }
    /** Records hits of a recipient as one of these nodes does. */
    const recordedBy =
      (live: string[], judge: (message: HitMessage) => HitJudgement[], hits: Partial<ReaderHit>[]) => async (db: Database) => {
        const shared = new SharedHits({ db, log: silentLog, secrets: secretsFrom(Buffer.alloc(32)), nodes: { live: () => live } })
        const services = { db, clock: settableClock(now), log: silentLog, judge, shared }
        const recorder = new HitRecorder(services, { settleMs: minute, addresses: 'none', scheme: 'https' })
        const standard = {
          recipientId: '',
          what: 'open',
          method: 'GET',
          headers: {},
          ip: '192.0.2.1',
          link: null,
          links: 0,
          at: now,
        } as const
        for (const hit of hits) recorder.record({ ...standard, ...hit })
        await recorder.stop()
      }
    const nobodys = ({ hits }: HitMessage) => hits.map(() => ({ bot: false, reason: null, confidence: 0 }))

    test.each([['node_a'], ['node_a', 'node_b']])('two opens that two nodes record at once both count: %s %s', async (...live) => {
      const { a, atOnce, recipientId } = await tracked()
      const seen = (at: number) => recordedBy(live, nobodys, [{ recipientId, at }])
      await changed(atOnce(seen(now), seen(now + 1)))
      expect(await a.read('select open_count, opened_at from recipient')).toEqual([{ open_count: 2, opened_at: now }])
    })

    /** Four links of many in a second, as a browser asks for them. */
    const scan = (recipientId: string) =>
      Array.from({ length: 4 }, (_, place) => ({
        recipientId,
        what: `click:${place + 1}` as const,
        link: `https://shop.example/${place}`,
        links: 20,
        at: now + place * 350,
        headers: aBrowser,
      }))
    const halves = (recipientId: string) => [0, 1].map((rest) => scan(recipientId).filter((_, place) => place % 2 === rest))
    const judged = async (db: Database) => (await db.read('select bot, bot_reason from hit order by happened_at')).map(Object.values)

    test('a scanner whose requests come to two nodes by halves is recognised as at one', async () => {
      const atOneNode = await tracked()
      await recordedBy(['node_a'], judgeHits, scan(atOneNode.recipientId))(atOneNode.a)
      const asAtOne = await judged(atOneNode.a)
      expect(asAtOne).toEqual(Array(4).fill([1, 'burst']))

      const apart = await tracked()
      for (const half of halves(apart.recipientId)) await recordedBy(['node_a'], judgeHits, half)(apart.a)
      expect(await judged(apart.a)).toEqual(Array(4).fill([0, null]))

      const inTurn = await tracked()
      const [one = [], other = []] = halves(inTurn.recipientId)
      await recordedBy(['node_a', 'node_b'], judgeHits, one)(inTurn.a)
      await recordedBy(['node_a', 'node_b'], judgeHits, other)(inTurn.b)
      expect(await judged(inTurn.a)).toEqual(asAtOne)
      expect(await inTurn.a.read('select click_count from recipient')).toEqual([{ click_count: 0 }])
    })

    test('also if both halves are recorded at once', async () => {
      const { a, atOnce, recipientId } = await tracked()
      const [one = [], other = []] = halves(recipientId)
      const live = ['node_a', 'node_b']
      await changed(atOnce(recordedBy(live, judgeHits, one), recordedBy(live, judgeHits, other)))
      expect(await judged(a)).toEqual(Array(4).fill([1, 'burst']))
    })

    test('what nodes know of hits together is sealed, and gone a while after the last', async () => {
      const { a, recipientId } = await tracked()
      const live = ['node_a', 'node_b']
      await recordedBy(live, nobodys, [{ recipientId, ip: '192.0.2.77', headers: { 'user-agent': 'Secretive' } }])(a)
      await recordedBy(live, nobodys, [{ recipientId, at: now + minute }])(a)
      const rows = await a.read<Row & { request: Uint8Array }>('select request from shared_hit')
      expect(rows).toHaveLength(2)
      for (const { request } of rows) expect(Buffer.from(request).toString('latin1')).not.toMatch(/192\.0\.2|Secretive/)
      const shared = new SharedHits({ db: a, log: silentLog, secrets: secretsFrom(Buffer.alloc(32)), nodes: { live: () => live } })
      await shared.sweep(now + minute)
      expect(await a.read('select id from shared_hit')).toHaveLength(2)
      await shared.sweep(now + minute + 1)
      expect(await a.read('select id from shared_hit')).toEqual([])
    })
  })

  test('one node neither ends a session that is used at another, nor sets back when a key was last used', async () => {
    const { a, b } = await open()
    const nodes = { a: await testCore({ over: a, now }), b: await testCore({ over: b, now }) }
    const { id } = await nodes.a.accounts.create('one', 'free')
    const { token } = await nodes.a.apiKeys.create({ accountId: id, name: 'app', permission: 'sending_access' })
    await a.write([insertOwner('usr_1', id, 0)])
    for (const { people } of Object.values(nodes)) await people.users.load()
    const { session } = await nodes.a.people.sessions.begin(nodes.a.people.users.get('usr_1'), { address: '192.0.2.1', userAgent: '' })
    for (const part of [nodes.b.accounts, nodes.b.apiKeys, nodes.b.people.sessions]) await part.load()

    nodes.b.apiKeys.authenticate(token)
    const day = 24 * 60 * minute
    for (const { clock } of Object.values(nodes)) clock.correct(day - minute)
    nodes.a.apiKeys.authenticate(token)
    await nodes.a.apiKeys.flush()
    await nodes.b.apiKeys.flush()
    expect(await a.read('select last_used_at from api_key')).toEqual([{ last_used_at: now + day - minute }])
    await nodes.a.people.sessions.exchange(session, { sandbox: false })
    nodes.b.clock.correct(minute)
    await nodes.b.people.sessions.sweep()
    expect(await a.read('select id from user_session')).toEqual([{ id: session.id }])
    nodes.b.clock.correct(day)
    await nodes.b.people.sessions.sweep()
    expect(await a.read('select id from user_session')).toEqual([])
  })

  test('a request under one idempotency key is carried out by one node, and by another only once that is gone', async () => {
    const { a, b, atOnce } = await open()
    await a.write([node('node_a'), node('node_b')])
    const keysOf = (db: Database, owner: string) =>
      new IdempotencyKeys({ db, clock: settableClock(now), secrets: secretsFrom(Buffer.alloc(32)), owner })
    const nodes = { a: keysOf(a, 'node_a'), b: keysOf(b, 'node_b') }
    let done = 0
    const bake = (keys: IdempotencyKeys, key: string, work: () => Promise<unknown> = async () => ++done) =>
      keys.answerOnce('acc_1', { operation: 'cakes.create', key, fingerprint: 'f' }, { isSecret: false, carryOut: work })
    const isRunning = { code: 'concurrent_idempotent_requests' }

    const both = await atOnce(
      () => bake(nodes.a, 'at once'),
      () => bake(nodes.b, 'at once'),
    )
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(both).toContainEqual({ status: 'rejected', reason: expect.objectContaining(isRunning) })
    expect([done, await bake(nodes.b, 'at once')]).toEqual([1, { answer: 1, replayed: true }])

    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const first = bake(nodes.a, 'slow', async () => {
      started.resolve()
      await released
      return 'late'
    })
    await started.promise
    await expect(bake(nodes.b, 'slow')).rejects.toMatchObject(isRunning)
    await a.write([{ sql: `delete from node where name = 'node_a'`, expect: 1 }])
    expect(await bake(nodes.b, 'slow')).toEqual({ answer: 2, replayed: false })
    release()
    await expect(first).rejects.toMatchObject(isRunning)
    expect(await bake(nodes.a, 'slow')).toEqual({ answer: 2, replayed: true })

    await expect(bake(nodes.b, 'refused', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await bake(nodes.b, 'refused', async () => undefined)
    expect(await bake(nodes.a, 'refused')).toEqual({ answer: 3, replayed: false })
  })

  /** A node that has died with two recipients in hand, and two that are about to see it. */
  async function lastMoment({ a, b }: TwoWriters) {
    const dead = await leasedNode(a)
    const others = [await leasedNode(a), await leasedNode(b)] as const
    for (const { nodes } of others) nodes.freeBuried({ free: (name) => [freeRecipients(name)] })
    await insertAccount(a)
    await insertQueued(a, now, {}, [{}, {}])
    await a.write([{ sql: 'update recipient set owner = :owner', params: { owner: dead.nodes.self } }])
    await pass(1, dead, ...others)
    await pass(4, ...others)
    return { dead, others }
  }

  test('two nodes that bury a third at once do it once, with all that it had in hand', async () => {
    const writers = await open()
    const { dead, others } = await lastMoment(writers)
    const [first, second] = others
    await changed(
      writers.atOnce(
        () => pass(2, first),
        () => pass(2, second),
      ),
    )
    const { a } = writers
    expect(await a.read('select distinct owner from recipient')).toEqual([{ owner: null }])
    expect(await a.read('select name from node order by name')).toEqual(others.map(({ nodes }) => ({ name: nodes.self })).toSorted(byName))
    await pass(1, dead)
    expect([dead.buried, first.buried, second.buried]).toEqual([expect.any(BuriedError), null, null])
  })

  test('what a node writes in its last moment is freed with the rest, and afterwards it writes nothing', async () => {
    const writers = await open()
    const { dead, others } = await lastMoment(writers)
    const { self } = dead.nodes
    const isThere: Statement = { sql: 'update node set version = version where name = :self', params: { self }, expect: 1 }
    await writers.a.write([freeRecipients(self)])
    const claim = (db: Database) => db.write([isThere, { sql: 'update recipient set owner = :self', params: { self } }])
    await changed(
      writers.atOnce(
        (db) => claim(db),
        () => pass(2, others[1]),
      ),
    )
    expect(await writers.a.read('select distinct owner from recipient')).toEqual([{ owner: null }])
    await expect(claim(writers.a)).rejects.toThrow(ConflictError)
  })

  test('an erasure is carried out by one node, and by another only once that is gone', async () => {
    const { a, b, atOnce } = await open()
    await a.write([node('node_a'), node('node_b')])
    const overwriting: { by: string; done: () => void }[] = []
    const logged: string[] = []
    const erasuresOf = async (db: Database, owner: string) => {
      const core = await testCore({ over: db, now })
      const log = createLog('info', (line) => logged.push(line))
      const overwriteAll = () => new Promise<void>((done) => overwriting.push({ by: owner, done }))
      return new Erasures({ ...core, log, owner, upkeep: { overwriteAll } })
    }
    const nodes = { a: await erasuresOf(a, 'node_a'), b: await erasuresOf(b, 'node_b'), stopped: await erasuresOf(a, 'node_a') }
    nodes.stopped.stop()
    const ann = { address: 'ann@x.example', localPart: 'ann', domain: 'x.example' }
    const everybodys = { accountId: null, sandboxOnly: false }
    const isOverwriting = (...by: string[]) => expect.poll(() => overwriting.map((each) => each.by)).toEqual(by)
    const end = () => overwriting.shift()?.done()

    const { id } = await nodes.a.begin(ann, everybodys)
    await isOverwriting('node_a')
    await nodes.b.resume()
    const seenFromOther = nodes.b.finished(id)
    await isOverwriting('node_a')
    end()
    await seenFromOther
    expect(await a.read('select finished_at, owner from erasure where id = :id', { id })).toEqual([{ finished_at: now, owner: null }])

    const { id: second } = await nodes.a.begin(ann, everybodys)
    await isOverwriting('node_a')
    await b.write([{ sql: `delete from node where name = 'node_a'`, expect: 1 }])
    await nodes.b.resume()
    await isOverwriting('node_a', 'node_b')
    end()
    await expect.poll(() => logged.join('')).toContain('interrupted')
    expect(await a.read('select finished_at, owner from erasure where id = :second', { second })).toEqual([
      { finished_at: null, owner: 'node_b' },
    ])
    end()
    await nodes.b.finished(second)

    await a.write([node('node_a')])
    const { id: third } = await nodes.stopped.begin(ann, everybodys)
    await atOnce(
      () =>
        nodes.a
          .resume()
          .then(() => isOverwriting('node_a'))
          .then(end),
      () => nodes.b.resume().then(() => nodes.b.finished(third)),
    )
    await nodes.a.finished(third)
    expect(overwriting).toEqual([])
  })

  test('of two nodes that see a free duty at once one has it, and the other after its death', async () => {
    const writers = await open()
    const [first, second] = [await leasedNode(writers.a), await leasedNode(writers.b)]
    const begun: string[] = []
    for (const { nodes } of [first, second])
      await nodes.duty('sweeping', async () => {
        begun.push(nodes.self)
        return () => {}
      })
    await changed(
      writers.atOnce(
        () => pass(2, first),
        () => pass(2, second),
      ),
    )
    await pass(2, first, second)
    const holders = () => writers.a.read<Row & { holder: string }>('select holder from duty')
    const [held] = await holders()
    const [busy, idle] = held?.holder === first.nodes.self ? [first, second] : [second, first]
    expect([held?.holder, begun]).toEqual([busy.nodes.self, [busy.nodes.self]])
    await pass(8, idle)
    expect([await holders(), begun]).toEqual([[{ holder: idle.nodes.self }], [busy.nodes.self, idle.nodes.self]])
  })

  test('the sweep of one node leaves what another takes in, and removes what a buried one left', async () => {
    const { a, b } = await open()
    await a.write([node('node_a'), node('node_b')])
    await a.write([uploaded('em_unowned', null), uploaded('em_buried', 'node_buried'), uploaded('em_own', 'node_b')])
    const uploads = (db: Database, owner: string) => new Uploads({ db, log: silentLog, owner, space: { require: () => {} } })
    await uploads(a, 'node_a').run(async (upload) => {
      await upload.store('em_arriving', 0, [new Uint8Array(1)])
      await uploads(b, 'node_b').sweep()
      expect(await a.read('select message_id from upload')).toEqual([{ message_id: 'em_arriving' }])
      await upload.store('em_arriving', 1, [new Uint8Array(1)])
      expect(await a.read('select chunk from content order by chunk')).toEqual([{ chunk: 0 }, { chunk: 1 }])
    })
  })
})

const node = (name: string): Statement => ({ sql: 'insert into node (name, started_at) values (:name, 0)', params: { name } })

const freeRecipients = (node: string): Statement => ({ sql: 'update recipient set owner = null where owner = :node', params: { node } })

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)

const ours = { signatures: new Set<string>(), accountId: 'acc_1' }

const arrival = { reversePath: null, remoteAddress: '192.0.2.1', receivedAt: now }

const domainReport = (reportId: string): DomainReport => ({
  kind: 'tls',
  reporter: 'receiver',
  contact: null,
  reportId,
  domain: 'example.com',
  beginAt: now,
  endAt: now,
  sessions: 1,
  failures: 0,
  rows: [],
  rowsLeftOut: 0,
})

const uploaded = (id: string, owner: string | null): Statement => ({
  sql: 'insert into upload (message_id, owner) values (:id, :owner)',
  params: { id, owner },
})

const insertAccountOf = (id: string): Statement => ({
  sql: `insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)`,
  params: { id },
})

const insertOwner = (id: string, accountId: string, operator: number): Statement => ({
  sql: `insert into account_user (id, account_id, email, role, operator, password, totp_step, created_at)
        values (:id, :accountId, :id, 'owner', :operator, 'hash', 0, 0)`,
  params: { id, accountId, operator },
})

const insertWebhook = (db: Database) =>
  db.write([
    {
      sql: `insert into webhook (id, account_id, sandbox, url, events, payload, status, secret, after_seq, created_at, updated_at)
            values ('wh_1', 'acc_1', 0, 'https://app.example/hook', '', 'standard', 'enabled', :nothing, 0, 0, 0)`,
      params: { nothing: new Uint8Array(0) },
    },
  ])

const insertDelivery = (id: string): Statement => ({
  sql: `insert into webhook_delivery (id, webhook_id, event_id, event_type, body, state, next_attempt_at, created_at)
        values (:id, 'wh_1', 'evt_1', 'email.sent', '{}', 'pending', :now, :now)`,
  params: { id, now },
})

const insertReturnedMail = (id: string): Statement => ({
  sql: `insert into returned_mail
          (id, received_at, purpose, forward_path, remote_address, ehlo_name, tls, size, content_id, state, due_at, network, token_account)
        values (:id, :now, 'bounce', 'b@relay.example', '192.0.2.1', 'mx.example', 0, 22, :id, 'received', :now, '192.0.2.0/24', 'none')`,
  params: { id, now },
})
