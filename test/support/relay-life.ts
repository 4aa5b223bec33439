import { oneAtATime } from '../../src/clients/command/one-at-a-time.ts'
import { Previews } from '../../src/api/resource/previews.ts'
import { expect, onTestFinished } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { liftMark } from '../../src/clients/command/run-store-copy.ts'
import { emailStatuses } from '../../src/mail/message/email-status.ts'
import { harmLimits, mailQuota } from '../../src/senders/account/account-policy.ts'
import { lookForHarm } from './look-for-harm.ts'
import type { Relay } from '../../src/server/relay/relay.ts'
import { sweepLimits } from '../../src/platform/store/counted-uses.ts'
import { Retention } from '../../src/mail/message/retention.ts'
import { noteMoved } from '../../src/mail-out/queue/last-place.ts'
import { postponeUnread } from '../../src/mail-out/queue/put-back.ts'
import { retryReturnedMail } from '../../src/mail-back/feedback/settle-returned-mail.ts'
import { holdRestored } from '../../src/mail-out/queue/restored-hold.ts'
import { silentLog } from '../../src/platform/log.ts'
import { ChangeLog } from '../../src/platform/store/change-log.ts'
import { ConflictError } from '../../src/platform/store/database.ts'
import { cancelClaimed } from '../../src/notify/webhook/webhook-delivery-store.ts'
import { keepCertificates } from './certificate-life.ts'
import { keepClassicalHost, routeMail, stopProvider, useSmarthostToken, useStsPolicy } from './delivery-life.ts'
import { hearOfDomains } from './domain-report-life.ts'
import { forgetRecipient } from './erasure-life.ts'
import { startFakeMx } from './fake-mx.ts'
import { hearOfMail } from './feedback-life.ts'
import { outliveNodes } from './node-life.ts'
import { tellSubmitters } from './notice-life.ts'
import { keepPeople } from './people-life.ts'
import { hearBack } from './return-path-life.ts'
import { search } from './search-life.ts'
import { SmtpClient } from './smtp-client.ts'
import { startTestRelay, type TestRelay } from './start-relay.ts'
import { isOnPostgres } from './tests-on-postgres.ts'
import { reportOnTls } from './tls-report-life.ts'
import { readMail, trackingSettings } from './tracking-life.ts'
import { unsubscribe } from './unsubscribe-life.ts'
import { startReceiver, status, type WebhookReceiver } from './webhook-receiver.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** To RCPT, by how the address begins. */
const replies = [
  ['gone', '550 5.1.1 No such user'],
  ['later', '451 4.7.1 Later'],
  ['moved', '550 5.1.6 Is now erin@rcpt.example'],
] as const

/**
 * A relay that has done everything a relay does, so that each of its statements has run. It does not serve any more; its
 * data directory goes away with the test.
 */
export async function livedRelay(): Promise<TestRelay> {
  const host = '127.0.2.1'
  const mx = await startFakeMx({
    host,
    on: {
      rcpt: (address) => replies.find(([beginning]) => address.startsWith(beginning))?.[1],
      dot: ({ rcptTo }) => (rcptTo[0]?.startsWith('unclear') ? { reply: '354 go on', end: 'close' } : undefined),
    },
  })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true', webhooks_retry_schedule: '1m', ...trackingSettings },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
  )
  onTestFinished(() => relay.stop())
  const good = await startReceiver(status(200))
  const bad = await startReceiver(status(500))
  const [goodId = '', badId = ''] = await addWebhooks(relay, good, bad)
  await command(relay, 'account', 'create', 'other')
  await keepAccounts(relay)
  await keepCertificates(relay)
  await keepClassicalHost(relay)
  await stopProvider(relay)
  await reportOnTls(relay)
  await useStsPolicy(relay)
  await routeMail(relay)
  await useSmarthostToken(relay)
  await keepPeople(relay, (...argv) => command(relay, ...argv))
  await keepDomains(relay)
  await keepTemplates(relay)
  await tellOtherNodes(relay)
  await sendByApi(relay)
  await sendBySmtp(relay)
  await emptySandbox(relay)
  await changeEmails(relay)
  await runQueue(relay)
  await findHostDown(relay)
  await tellSubmitters(relay, () => isQuiet(relay))
  await readEmails(relay)
  await followEvents(relay)
  await keepSuppressions(relay)
  await unsubscribe(relay, mx)
  await isQuiet(relay)
  await readMail(relay, mx)
  await oneAtATime(relay.relay.services, async () => {})
  await isQuiet(relay)
  await lookAfterWebhooks(relay, { goodId, badId, bad })
  await searchAll(relay, goodId)
  await operate(relay)
  await hearBack(relay)
  await hearOfMail(relay, mx)
  await hearOfDomains(relay)
  await forgetRecipient(relay, mx, () => isQuiet(relay))
  await searchAll(relay, goodId)
  await growOld(relay)
  // Nobody has asked anything for two minutes.
  relay.clock.advance(2 * minute)
  await isQuiet(relay)
  await restAfterDays(relay)
  // The clock was a day ahead, and what waits does not wait for that day.
  relay.clock.correct(-day)
  await relay.restart()
  await isQuiet(relay)
  // On a server it would bury the relay, which is a node there.
  if (!isOnPostgres) await outliveNodes(relay.relay.services.db)
  await relay.relay.stop()
  return relay
}

async function command(relay: TestRelay, ...argv: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runCommand({ argv, cwd: '/' }, relay.relay.services)
  if (exitCode !== 0) throw new Error(`sterna ${argv.join(' ')}: ${stderr}`)
  return stdout
}

async function call(relay: TestRelay, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<any> {
  const answer = await relay.call(method, path, body, headers)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

const reaches = (relay: TestRelay, id: string, address: string, state: string): Promise<void> =>
  expect.poll(async () => (await relay.recipients(id))[address]?.status).toBe(state)

/** Nothing is in hand, neither mail nor a post, and webhooks have all events. */
async function isQuiet(relay: TestRelay): Promise<void> {
  const { db } = relay.relay.services
  const busy = `select id from recipient where owner is not null
                 union all select id from webhook_delivery where state = 'attempting' or next_attempt_at <= :now
                 union all select name from cursor where name not in ('analytics', 'notice', 'search') and position < (select max(seq) from event)`
  await expect.poll(() => db.read(busy, { now: relay.clock.now() })).toEqual([])
}

/** Between two messages: posts of the same moment are made in any order, so engines may differ there. */
async function pause(relay: TestRelay): Promise<void> {
  await isQuiet(relay)
  relay.clock.advance(1_000)
}

/** What a relay with others beside it writes. */
async function tellOtherNodes({ relay, clock }: TestRelay): Promise<void> {
  const { db } = relay.services
  const [{ name: node = '' } = {}] = await db.read<{ name: string }>('select name from node')
  const changes = await ChangeLog.open({ db, clock })
  changes.join(node, silentLog)
  await db.write(changes.note('account', 'acc_1'))
  await changes.seenByAll()
  clock.advance(1_000)
  await expect.poll(() => db.read('select seq from change_log')).toEqual([])
  changes.stop()
}

async function addWebhooks(relay: TestRelay, good: WebhookReceiver, bad: WebhookReceiver): Promise<string[]> {
  const ids: string[] = []
  for (const fields of [
    { url: good.url, payload: 'extended' },
    { url: bad.url, events: ['email.delivered'] },
  ]) {
    ids.push((await call(relay, 'POST', '/api/webhooks', fields)).id)
  }
  await command(relay, 'webhook', 'add', good.url, '--account', 'test', '--sandbox')
  await command(relay, 'webhook', 'list', '--account', 'test')
  return ids
}

async function keepAccounts(relay: TestRelay): Promise<void> {
  const { accounts, apiKeys, quotas, policies } = relay.relay.services
  await command(relay, 'account', 'suspend', 'other')
  await command(relay, 'account', 'resume', 'other')
  await accounts.change('other', { plan: 'enterprise' })
  await policies.change(mailQuota, accounts.getAccount('test').id, { day: 1_000_000, month: null })
  await quotas.useOf(accounts.getAccount('test').id)
  await command(relay, 'key', 'create', '--account', 'other', '--name', "O'Hara's \\ key")
  const [key] = apiKeys.list(accounts.getAccount('other').id)
  await command(relay, 'key', 'revoke', key?.id ?? '')
  await command(relay, 'domain', 'add', 'other.example', '--account', 'other')
  await expect(command(relay, 'domain', 'verify', 'other.example')).rejects.toThrow('is pending')
  await apiKeys.flush()
  await command(relay, 'account', 'delete', 'other')
}

async function keepDomains(relay: TestRelay): Promise<void> {
  await call(relay, 'POST', '/api/domains', { name: 'old.example', tracking_subdomain: 'links' })
  await command(relay, 'domain', 'verify', 'old.example', '--manual')
  await command(relay, 'domain', 'verify', 'old.example')
  await call(relay, 'PATCH', '/api/domains/old.example', { tracking_subdomain: null, subdomains: false })
  for (const force of [false, true]) await call(relay, 'POST', '/api/domains/old.example/dkim/rotate', { force })
  await command(relay, 'domain', 'verify', 'old.example', '--manual')
  await call(relay, 'DELETE', '/api/domains/old.example')
}

async function keepTemplates(relay: TestRelay): Promise<void> {
  const { id } = await call(relay, 'POST', '/api/templates', { name: 'Hello', alias: 'hello', subject: 'Hello', html: '{{name}}' })
  const under = (key: string) => ({ 'idempotency-key': key })
  const { id: copy } = await call(relay, 'POST', '/api/templates/hello/duplicate', undefined, under('done'))
  await expect(call(relay, 'POST', '/api/templates/none/duplicate', undefined, under('refused'))).rejects.toThrow('not_found')
  for (const change of [{ text: 'Dear {{name}}' }, { name: 'Greeting' }]) await call(relay, 'PATCH', `/api/templates/${id}`, change)
  await call(relay, 'POST', `/api/templates/${id}/publish`)
  await call(relay, 'PATCH', `/api/templates/${id}`, { subject: 'Good day' })
  for (const query of ['', `?after=${copy}`, `?before=${id}`]) await call(relay, 'GET', `/api/templates${query}`)
  const template = { id: 'hello', variables: { name: 'Ann' } }
  for (const to of ['ann@rcpt.example', 'clicked@simulator.test'])
    await call(relay, 'POST', '/api/emails', { from: 'app@sender.example', to, template })
  await pause(relay)
  await call(relay, 'POST', '/api/templates', { name: 'Frame', alias: 'frame', html: '<body>{{{@content}}}{{> hello}}</body>' })
  await call(relay, 'PATCH', `/api/templates/${copy}`, { layout: 'frame', alias: 'page' })
  for (const alias of ['frame', 'page', 'page']) await call(relay, 'POST', `/api/templates/${alias}/publish`)
  await call(relay, 'PATCH', '/api/templates/frame', { html: '<main>{{{@content}}}</main>' })
  for (const alias of ['frame', 'page'])
    await call(relay, 'POST', `/api/templates/${alias}/publish`, { version: alias === 'page' ? 'published' : 'draft' })
  await call(relay, 'POST', '/api/templates/page/versions/1/restore')
  for (const path of ['', '/versions', '/versions/1', '/diff?from=1', '/dependents']) await call(relay, 'GET', `/api/templates/page${path}`)
  await call(relay, 'POST', '/api/templates/page/test', { to: 'ann@rcpt.example', from: 'app@sender.example', variables: { name: 'Ann' } })
  await pause(relay)
  await call(relay, 'DELETE', `/api/templates/${copy}`)
}

async function sendByApi(relay: TestRelay): Promise<void> {
  for (const reaction of ['opened', 'clicked', 'complained', 'unsubscribed', 'softbounced', 'suppressed']) {
    await relay.send(`${reaction}@simulator.test`, { tags: [{ name: 'kind', value: reaction }], metadata: { order: '7' } })
    await pause(relay)
  }
  const email = { from: 'app@sender.example', to: 'ann@rcpt.example', subject: 'Grüße 🐦', text: 'once' }
  for (const key of ['same', 'same', 'another']) {
    const { status: code } = await relay.call('POST', '/api/send', email, { 'idempotency-key': key })
    expect(code).toBe(200)
    await pause(relay)
  }
}

async function changeEmails(relay: TestRelay): Promise<void> {
  const later = { scheduled_at: new Date(relay.clock.now() + 10 * hour).toISOString() }
  const emails = ['softbounced@simulator.test', 'batch@rcpt.example', 'large@rcpt.example'].map((to) => ({
    from: 'app@sender.example',
    to,
    subject: to,
    text: to.startsWith('large') ? 'x'.repeat(2_000_000) : to,
    ...later,
  }))
  const { data } = await call(relay, 'POST', '/api/emails/batch', emails)
  const [first, second, third] = data.map(({ id }: { id: string }) => id)
  const refused = await relay.call('POST', '/api/emails/batch', [emails[2], emails[2], { ...emails[0], from: 'a@other.example' }])
  expect(refused.status).toBe(403)
  await call(relay, 'POST', `/api/emails/${second}/cancel`)
  await call(relay, 'PATCH', `/api/emails/${third}`, { scheduled_at: new Date(relay.clock.now() + 2 * hour).toISOString() })
  await call(relay, 'POST', `/api/emails/${third}/cancel`)
  await call(relay, 'PATCH', `/api/emails/${first}`, { scheduled_at: '2020-01-01T00:00:00Z' })
  await reaches(relay, first, 'softbounced@simulator.test', 'bounced')
  await isQuiet(relay)
  await call(relay, 'POST', `/api/emails/${first}/resend`)
  await call(relay, 'GET', `/api/emails/${first}/attachments`)
  await call(relay, 'GET', `/api/emails/${first}/headers`)
  await isQuiet(relay)
}

/** What is kept of sandbox mail goes when it is removed. */
async function emptySandbox(relay: TestRelay): Promise<void> {
  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({
    accountId: accounts.getAccount('test').id,
    name: 'sandbox',
    permission: 'full_access',
    sandbox: true,
  })
  const authorization = `Bearer ${token}`
  const headers = { authorization, 'content-type': 'application/json' }
  const body = JSON.stringify({
    from: 'app@sender.example',
    to: 'bounced@simulator.test',
    subject: 'Gone',
    text: 'Gone',
    tags: { kind: 'x' },
  })
  await fetch(`${relay.baseUrl}/api/emails`, { method: 'POST', headers, body })
  await isQuiet(relay)
  const removed = await fetch(`${relay.baseUrl}/api/emails`, { method: 'DELETE', headers: { authorization } })
  expect(await removed.json()).toMatchObject({ deleted: 1 })
}

async function sendBySmtp(relay: TestRelay): Promise<void> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const header = 'From: app@sender.example\r\nTo: ann@rcpt.example\r\nSubject: large\r\n\r\n'
  const large = header + `${'x'.repeat(76)}\r\n`.repeat(26_000)
  const envelope = { from: 'app@sender.example', to: ['ann@rcpt.example'] }
  expect((await client.send(large, envelope)).code).toBe(250)
  // Refused at its end, when most of it is stored.
  expect((await client.send(`${large}a line\rthat ends wrongly`, envelope)).code).toBe(550)
  await client.command('MAIL FROM:<app@sender.example> HOLDFOR=3600 BY=7200;R')
  await client.command('RCPT TO:<ann@rcpt.example>')
  await client.command('DATA')
  client.write(`${header}later\r\n.\r\n`)
  const [held] = /em_[0-9a-z]{26}/.exec((await client.reply()).last) ?? []
  client.close()
  await call(relay, 'PATCH', `/api/emails/${held}`, { scheduled_at: new Date(relay.clock.now() + 100 * minute).toISOString() })
  await call(relay, 'POST', `/api/emails/${held}/cancel`)
  await pause(relay)
}

async function runQueue(relay: TestRelay): Promise<void> {
  const { clock, relay: running } = relay
  const { db, queueAdmin } = running.services
  const in2Minutes = { scheduled_at: new Date(clock.now() + 2 * minute).toISOString() }
  const waiting = await relay.send('gone@rcpt.example', in2Minutes)
  const lost = await relay.send('lost@rcpt.example', in2Minutes)
  await db.write([{ sql: 'delete from content where message_id = :lost', params: { lost } }])
  const unread = await relay.send('gone-unread@rcpt.example', in2Minutes)
  const setTags = (tags: string) => db.write([{ sql: 'update message set tags = :tags where id = :unread', params: { tags, unread } }])
  await setTags('damaged')
  await reaches(relay, await relay.send('gone@rcpt.example'), 'gone@rcpt.example', 'bounced')
  const later = await relay.send('later@rcpt.example')
  await reaches(relay, later, 'later@rcpt.example', 'deferred')
  const [entry] = await queueAdmin.show(later)
  for (const what of [later, entry?.id ?? '', 'rcpt.example']) {
    for (const verb of ['show', 'hold', 'release', 'retry']) await command(relay, 'queue', verb, what)
    await isQuiet(relay)
  }
  await command(relay, 'queue', 'list')
  const unclear = await relay.send('unclear@rcpt.example')
  await reaches(relay, unclear, 'unclear@rcpt.example', 'deferred')
  clock.advance(3 * minute)
  await reaches(relay, unclear, 'unclear@rcpt.example', 'bounced')
  // Needed only where the disk has damaged the row of a message.
  await db.write([{ ...postponeUnread('rcp_none', 'boot_none', clock.now()), expect: 0 }])
  await db.write([{ ...retryReturnedMail({ id: 'rep_none', owner: 'node_none' }, clock.now()), expect: 0 }])
  // It came onto the suppression list while it waited; of the others the content is gone, and the row cannot be read.
  await reaches(relay, waiting, 'gone@rcpt.example', 'suppressed')
  await reaches(relay, lost, 'lost@rcpt.example', 'deferred')
  await expect.poll(async () => (await queueAdmin.show(unread))[0]?.due_at).toBe(clock.now() + 5_000)
  await setTags('[]')
  clock.advance(60 * hour)
  await reaches(relay, later, 'later@rcpt.example', 'bounced')
  const held = await relay.send('held@rcpt.example', { scheduled_at: new Date(clock.now() + 2 * minute).toISOString() })
  await command(relay, 'account', 'suspend', 'test')
  clock.advance(3 * minute)
  await expect.poll(async () => (await queueAdmin.show(held))[0]?.last_response).toContain('suspended')
  await command(relay, 'account', 'resume', 'test')
  await reaches(relay, held, 'held@rcpt.example', 'delivered')
  await holdForHarm(relay)
  await findRestored(relay)
  await isQuiet(relay)
}

/** The server suspends an account while some of its mail waits. */
async function holdForHarm(relay: TestRelay): Promise<void> {
  const { accounts, db } = relay.relay.services
  const account = accounts.getAccount('test')
  const id = await relay.send('harmful@rcpt.example', { scheduled_at: new Date(relay.clock.now() + 2 * minute).toISOString() })
  await accounts.restrain(account, { slowedUntil: null, harm: 'Too many bounced.' }, [])
  relay.clock.advance(3 * minute)
  const isHeld = 'select held from recipient where message_id = :id'
  await expect.poll(() => db.read(isHeld, { id })).toEqual([{ held: 3 }])
  await accounts.change(account.id, { status: 'active' })
  await reaches(relay, id, 'harmful@rcpt.example', 'delivered')
}

/** As if the database were a backup that was put in place, or its files had been copied. */
async function findRestored(relay: TestRelay): Promise<void> {
  const { services } = relay.relay
  await services.db.write([{ sql: "update last_place set lock_file = '1:1:1', database_file = '2:2:2'" }])
  await noteMoved(services)
  for (const verb of ['release', 'cancel']) {
    const later = new Date(relay.clock.now() + hour).toISOString()
    const waiting = await relay.send(`restored-${verb}@rcpt.example`, { scheduled_at: later })
    await services.db.write([{ sql: "insert into store_copy (target, copied_at) values ('a database elsewhere', 0)" }])
    await liftMark(services)
    await holdRestored(services)
    await command(relay, 'queue', verb, '--restored', ...(verb === 'cancel' ? ['--yes'] : []))
    const state = verb === 'cancel' ? 'canceled' : 'scheduled'
    expect(Object.values(await relay.recipients(waiting))).toMatchObject([{ status: state }])
  }
}

/** Nothing listens there: mail is put back while its host rests, and given up when its time is over. */
async function findHostDown(relay: TestRelay): Promise<void> {
  const { clock } = relay
  relay.dns.zone['down.example'] = { a: ['127.0.2.254'] }
  const id = await relay.send(Array.from({ length: 50 }, (_, i) => `u${i}@down.example`))
  const states = async () => new Set(Object.values(await relay.recipients(id)).map(({ status: state }) => state))
  await expect.poll(states).toEqual(new Set(['deferred', 'queued']))
  await isQuiet(relay)
  clock.advance(49 * hour)
  const later = () => {
    clock.advance(20_000)
    return states()
  }
  await expect.poll(later).toEqual(new Set(['bounced']))
  await isQuiet(relay)
}

async function readEmails(relay: TestRelay): Promise<void> {
  const list = (query: string) => call(relay, 'GET', `/api/emails?${query}`)
  const { data } = await list('limit=2')
  const [newest, older] = data
  for (const name of emailStatuses) await list(`status=${name}`)
  const filters = `to=Ann@rcpt.example&from=app@sender.example&domain_id=dom_${'0'.repeat(26)}&since=2026-01-01T00:00:00Z&until=2027-01-01T00:00:00Z`
  for (const query of [filters, 'tag=kind', 'tag=kind%3Dopened', `after=${newest.id}`, `before=${older.id}`]) await list(query)
  const part = (name: string, query = '') => call(relay, 'GET', `/api/emails/${newest.id}/${name}?limit=1${query}`)
  for (const name of ['events', 'attempts']) {
    const first = (await part(name)).data[0]
    if (first) for (const edge of ['after', 'before']) await part(name, `&${edge}=${first.id}`)
  }
}

async function followEvents(relay: TestRelay): Promise<void> {
  const list = (query: string) => call(relay, 'GET', `/api/events?${query}`)
  const [newest, older] = (await list('limit=2')).data
  await call(relay, 'GET', `/api/events/${newest.id}`)
  for (const query of [`after=${newest.id}`, `before=${older.id}`, `order=asc&after=${older.id}`, `order=asc&before=${newest.id}`])
    await list(query)
  const times = 'since=2026-01-01T00:00:00Z&until=2027-01-01T00:00:00Z'
  await list(`type=email.sent&email_id=${newest.data.email_id}&to=ann@rcpt.example&${times}`)
  const response = await fetch(`${relay.baseUrl}/api/events/stream`, { headers: { authorization: `Bearer ${relay.token}` } })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  await relay.send('delivered@simulator.test')
  for (let text = ''; !text.includes('event: email.delivered');) text += (await reader.read()).value
  await reader.cancel()
  const changes = await fetch(`${relay.baseUrl}/api/events/changes`, { headers: { authorization: `Bearer ${relay.token}` } })
  const changed = changes.body!.pipeThrough(new TextDecoderStream()).getReader()
  const id = await relay.send('delivered@simulator.test')
  for (let text = ''; !text.includes(id);) text += (await changed.read()).value
  await changed.cancel()
  await isQuiet(relay)
}

async function keepSuppressions(relay: TestRelay): Promise<void> {
  for (const email of ['una@rcpt.example', 'una@rcpt.example', 'dua@rcpt.example', "tri'a@rcpt.example"]) {
    await call(relay, 'POST', '/api/suppressions', { email })
  }
  const { data } = await call(relay, 'GET', '/api/suppressions')
  for (const query of ['origin=bounce', 'email=una', `after=${data[0].id}`, `before=${data[1].id}`])
    await call(relay, 'GET', `/api/suppressions?${query}`)
  for (const name of [data[0].id, data[1].email]) {
    await call(relay, 'GET', `/api/suppressions/${name}`)
    await call(relay, 'DELETE', `/api/suppressions/${name}`)
  }
}

async function lookAfterWebhooks(relay: TestRelay, webhooks: { goodId: string; badId: string; bad: WebhookReceiver }): Promise<void> {
  const { goodId, badId, bad } = webhooks
  const good = `/api/webhooks/${goodId}`
  const failing = `/api/webhooks/${badId}`
  const { data } = await call(relay, 'GET', `${failing}/deliveries?status=failed&type=email.delivered`)
  const [first, second] = data
  expect(second).toBeDefined()
  await call(relay, 'GET', `${failing}/deliveries/${first.id}`)
  for (const edge of ['after', 'before']) await call(relay, 'GET', `${failing}/deliveries?${edge}=${first.id}`)
  for (const query of ['limit=1', `after=${first.id}`, `before=${first.id}`])
    await call(relay, 'GET', `/api/emails/${first.email_id}/webhook-deliveries?${query}`)
  for (const query of ['', `event_id=${first.event_id}`, `after=${first.event_id}`, `before=${first.event_id}`]) {
    await call(relay, 'GET', `${failing}/events?${query}`)
  }
  await call(relay, 'GET', `${failing}/events/${first.event_id}`)
  for (const query of ['', `after=${first.id}`, `before=${first.id}`]) {
    await call(relay, 'GET', `${failing}/events/${first.event_id}/attempts?${query.replace('whd_', 'wha_')}`)
  }
  bad.behave = status(204)
  await call(relay, 'POST', `${failing}/deliveries/${first.id}/replay`)
  await call(relay, 'POST', `${failing}/events/${second.event_id}/replay`)
  await isQuiet(relay)
  const failed = { since: '2026-01-01T00:00:00Z', status: 'failed' }
  await call(relay, 'POST', `${failing}/replay`, { ...failed, dry_run: true })
  await call(relay, 'POST', `${failing}/replay`, failed)
  await isQuiet(relay)
  await call(relay, 'POST', `${good}/test`)
  await call(relay, 'POST', `${good}/rotate-secret`, { overlap_seconds: 60 })
  await call(relay, 'POST', `${good}/rotate-secret`, { overlap_seconds: 60, force: true })
  for (const changes of [{ description: 'x' }, { status: 'disabled' }, { status: 'enabled' }]) await call(relay, 'PATCH', good, changes)
  await relay.call('GET', '/compat/postmark/bounces/1', undefined, { 'x-postmark-server-token': relay.token })
  await relay.call('POST', '/compat/postal/api/v1/messages/message', { id: 1 }, { 'x-server-api-key': relay.token })
  await call(relay, 'DELETE', failing)
  for (const query of ['', `?after=${goodId}`, `?before=${goodId}`]) await call(relay, 'GET', `/api/webhooks${query}`)
  // Needed only where a webhook is disabled between the claim of a delivery and its post.
  await expect(relay.relay.services.db.write([cancelClaimed(first.id, 'node_1')])).rejects.toThrow(ConflictError)
}

/** What an operator sees and does, and what was counted meanwhile. */
async function operate(relay: TestRelay): Promise<void> {
  const token = (await command(relay, 'key', 'create', '--account', 'test', '--permission', 'operator')).trim()
  const ask = async (method: string, path: string): Promise<any> => {
    const answer = await relay.call(method, path, undefined, { authorization: `Bearer ${token}` })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const waiting = [await relay.send('later@rcpt.example'), await relay.send('later@rcpt.example')]
  for (const id of waiting) await reaches(relay, id, 'later@rcpt.example', 'deferred')
  await command(relay, 'queue', 'hold', waiting[0] ?? '')
  await command(relay, 'message', 'show', waiting[0] ?? '')
  for (const path of [
    'queue',
    'queue?order=waiting',
    'queue/totals',
    'queue?after=a.example',
    'queue?before=z.example',
    'queue/rcpt.example',
    'explain?to=later@rcpt.example',
    'audit?request_id=req_1',
  ]) {
    await ask('GET', `/api/${path}`)
  }
  const metrics = await fetch(`${relay.baseUrl}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  expect(await metrics.text()).toContain('sterna_queue_recipients{state="held"} 1\n')
  expect((await ask('POST', '/api/queue/rcpt.example/bounce')).recipients).toBeGreaterThanOrEqual(2)
  await isQuiet(relay)
  for (const dimensions of ['', 'period', 'period,domain', 'tag', 'campaign', 'template', 'bounce_category', 'domain&domain_id=dom_1']) {
    await ask('GET', `/api/analytics?dimensions=${dimensions}`)
  }
  await ask('GET', '/api/analytics?dimensions=period&tag=campaign=spring&compare=previous')
  await ask('GET', '/api/analytics/latency?compare=previous')
  const { data } = await ask('GET', '/api/emails?to=clicked@simulator.test&limit=1')
  await ask('GET', `/api/analytics/links?email_id=${data[0].id}`)
  const { data: events } = await ask('GET', '/api/events?limit=1')
  const parts = ['rcp', 'att', 'rep', 'whd', 'wha'].map((prefix) => `${prefix}_${'0'.repeat(26)}`)
  for (const id of [events[0].id, ...parts]) await relay.call('GET', `/api/find/${id}`)
  for (const { template_id: id } of (await ask('GET', '/api/analytics?dimensions=template')).data)
    await ask('GET', `/api/analytics/links?template_id=${id}`)
}

const searchAll = ({ relay }: TestRelay, webhookId: string): Promise<void> =>
  search(relay.services.db, { accountId: relay.services.accounts.getAccount('test').id, webhookId })

/** The past is swept out, and life goes on. */
/** The server is off for longer than mail is tried. */
async function restAfterDays(relay: TestRelay): Promise<void> {
  await relay.restart(() => relay.clock.advance(3 * day))
  const isAnswered = 'select ended_at from outage where answered_at is not null'
  await expect.poll(() => relay.relay.services.db.read(isAnswered)).toHaveLength(1)
  await isQuiet(relay)
}

/** An account is looked at, slowed and resumed. */
async function doHarm(running: Relay): Promise<void> {
  const { accounts, policies } = running.services
  const { id } = accounts.getAccount('test')
  await policies.change(harmLimits, id, { bouncesFrom: 0, bouncesSlow: 1000, bouncesSuspend: 0, complaintsSlow: 0, complaintsSuspend: 0 })
  await lookForHarm(running)
  await accounts.restrain(accounts.getAccount(id), { slowedUntil: running.services.clock.now() + day, harm: 'Too many bounced.' }, [])
  await accounts.change(id, { status: 'suspended' })
  await accounts.change(id, { status: 'active' })
}

async function growOld(relay: TestRelay): Promise<void> {
  const { clock, relay: running } = relay
  const { users, sessions } = running.services.people
  const ann = users.get('ann@test.example')
  await sessions.begin(ann, { address: '192.0.2.1', userAgent: 'test' })
  await sessions.list(ann.id)
  await sessions.find('a secret that no session has')
  const previews = new Previews(running.services)
  const { token } = await previews.add(ann.id, { html: Buffer.from('<p>Hello</p>'), pictures: false })
  await previews.take(token)
  await previews.add(ann.id, { html: Buffer.from('<p>Hello</p>'), pictures: false })
  await doHarm(running)
  clock.advance(10 * day)
  await sessions.sweep()
  await previews.sweep()
  await sweepLimits(running.services.db, clock.now())
  await isQuiet(relay)
  const email = { from: 'app@sender.example', to: 'ann@rcpt.example', subject: 'Again', html: '<p>once more</p>' }
  const { body } = await relay.call('POST', '/api/send', email, { 'idempotency-key': 'same' })
  await reaches(relay, body.id, 'ann@rcpt.example', 'delivered')
  await running.services.sendingDomains.forgetOld()
  await new Retention(running.services.db, { contentMs: day, eventMs: 5 * day }).sweep(clock.now())
  await relay.send(['delivered@simulator.test', 'gone@rcpt.example', 'later@rcpt.example'], { tags: { kind: 'last' } })
  await isQuiet(relay)
}
