import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { readKeyFile } from '../../src/senders/account/key-file.ts'
import { tryToOpen } from '../../src/senders/account/sealed-secrets.ts'
import { startFakeMx, type MxMessage } from '../support/fake-mx.ts'
import { settableClock } from '../support/settable-clock.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const second = 1_000
const host = '127.0.2.91'

/** Two nodes that send signed, tracked mail and tell a webhook of it. Whoever verifies signatures looks at the time. */
async function start() {
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const settings = { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true' }
  const now = Date.now()
  const nodes = await startTwoNodes(settings, { 'rcpt.example': { a: [host] } }, { a: now, b: now })
  const { accounts, apiKeys, sendingDomains, config } = nodes.a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  const records = new Map<string, string>()
  const addDomain = async (at: TestNode, name: string): Promise<void> => {
    const { body } = await at.call('POST', '/api/domains', { token, body: { name } })
    for (const record of body.records) records.set(record.name, record.value)
    await sendingDomains.verifyManually(body.id)
  }
  await addDomain(nodes.a, 'shop.example')
  const receiver = await startReceiver(status(200))
  const hook = await nodes.a.call('POST', '/api/webhooks', { token, body: { url: receiver.url, events: ['email.delivered'] } })
  await nodes.b.relay.services.changes.caughtUp()
  const keyFiles = { a: config.secretKeyFile, b: nodes.b.relay.services.config.secretKeyFile }
  return { ...nodes, mx, records, receiver, secret: hook.body.signing_secret as string, token, addDomain, keyFiles }
}

type Started = Awaited<ReturnType<typeof start>>

/** Sends one email at a node, and waits until it has arrived. */
async function send({ mx, token, a, b }: Started, at: TestNode, to: string, from = 'app@shop.example'): Promise<MxMessage> {
  const html = '<p><a href="https://shop.example/">Shop</a></p>'
  const body = { from, to, subject: 'Hi', html, unsubscribe: true, tracking: { clicks: true } }
  expect(await at.call('POST', '/api/send', { token, body })).toMatchObject({ status: 200 })
  const arrived = () => mx.messages.find(({ rcptTo }) => rcptTo[0] === to)
  await expect
    .poll(async () => {
      await passTime(second, a, b)
      return arrived()
    })
    .toBeDefined()
  return arrived() as MxMessage
}

async function signatures({ records }: Started, { data }: MxMessage): Promise<string[]> {
  const resolver = async (name: string) => [[records.get(name) ?? '']]
  const { results } = await dkimVerify(data, { resolver })
  return results.map(({ status: found }) => found.result)
}

/** What somebody finds at a node who uses what an email brought. */
async function use(node: TestNode, { data, mailFrom }: MxMessage) {
  const { html } = await simpleParser(data)
  const link = /https?:\/\/[^/]+(\/t\/c\/[\w/-]+)/.exec(html || '')?.[1] ?? ''
  const unsubscribe = /^List-Unsubscribe:\s+<https?:\/\/[^/]+(\/u\/[\w-]+)>/m.exec(data.toString())?.[1] ?? ''
  const clicked = await fetch(node.baseUrl + link, { redirect: 'manual' })
  const page = await fetch(node.baseUrl + unsubscribe)
  const client = await SmtpClient.connect(node.returnPathPort)
  await client.command('EHLO mx.example')
  await client.command('MAIL FROM:<>')
  const { code } = await client.command(`RCPT TO:<${mailFrom}>`)
  client.close()
  return [clicked.headers.get('location'), page.status, code]
}

/** The token of somebody who has logged in at one node. */
async function sessionAt(a: TestNode, b: TestNode): Promise<string> {
  const { accounts, people } = a.relay.services
  const accountId = accounts.getAccount('shop').id
  const { token } = await people.users.invite({ accountId, email: 'ann@shop.example', role: 'owner', operator: false })
  let isDone = false
  const taken = people.users.takeInvitation(token, 'a long enough password').finally(() => (isDone = true))
  await expect
    .poll(async () => {
      await passTime(second, a, b)
      return isDone
    })
    .toBe(true)
  const { session } = await people.sessions.begin(await taken, { address: '192.0.2.1', userAgent: 'test' })
  return (await people.sessions.exchange(session, { sandbox: false })).token
}

const works = ['https://shop.example/', 200, 250]
const keysOf = ({ relay }: TestNode) => relay.services.secrets
const faultsOf = ({ relay }: TestNode): string[] => relay.services.health.faults.map(({ message }) => message)

test('a new key is used once both nodes have it, and until then and after, everything that either makes works at both', async () => {
  const started = await start()
  const { a, b, keyFiles, receiver, secret, addDomain } = started
  const before = keysOf(a).used
  const copy = join(testDirectory(), 'before.key')
  copyFileSync(keyFiles.a, copy)
  const mails = [await send(started, b, 'first@rcpt.example')]
  const early = await sessionAt(a, b)

  const rotate = () => runCommand({ argv: ['rotate', 'secret-key'], cwd: '/' }, a.relay.services)
  expect(await rotate()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Copy the file to the other nodes') })
  await expect.poll(() => faultsOf(a)).toMatchObject([expect.stringContaining(`missing at: ${b.relay.services.owner} on `)])
  expect([keysOf(a).used, keysOf(b).used, keysOf(a).newest === before]).toEqual([before, before, false])
  expect((await rotate()).stderr).toContain('has a new key already, which is not in use yet')
  const atOther = await runCommand({ argv: ['rotate', 'secret-key'], cwd: '/' }, b.relay.services)
  expect(atOther).toMatchObject({ stderr: expect.stringContaining(`The node ${a.relay.services.owner} on `) })
  expect(atOther.stderr).toContain('has a new key already, which')
  expect(readFileSync(keyFiles.b, 'latin1')).toBe(readFileSync(copy, 'latin1'))
  // Put back, it is as if it had never been made.
  const rotated = readFileSync(keyFiles.a)
  copyFileSync(copy, keyFiles.a)
  await expect.poll(() => [faultsOf(a), keysOf(a).newest]).toEqual([[], before])
  writeFileSync(keyFiles.a, rotated)
  await expect.poll(() => faultsOf(a)).toMatchObject([expect.stringContaining('missing at: ')])
  // What A seals now is nothing to B but what it was.
  await addDomain(a, 'new.example')
  await b.relay.services.changes.caughtUp()
  mails.push(await send(started, b, 'second@rcpt.example', 'app@new.example'), await send(started, a, 'third@rcpt.example'))

  copyFileSync(keyFiles.a, keyFiles.b)
  let count = 0
  await expect
    .poll(async () => {
      const at = count++ % 2 === 0 ? a : b
      mails.push(await send(started, at, `during-${count}@rcpt.example`, 'app@new.example'))
      return [keysOf(a).used, keysOf(b).used].filter((used) => used === keysOf(a).newest).length
    })
    .toBe(2)
  mails.push(await send(started, b, 'late@rcpt.example'), await send(started, a, 'last@rcpt.example', 'app@new.example'))

  for (const mail of mails) {
    expect(await signatures(started, mail)).toEqual(['pass', 'pass'])
    for (const node of [a, b]) expect(await use(node, mail)).toEqual(works)
  }
  for (const node of [a, b]) {
    expect((await node.call('GET', '/api/account', { token: early })).status).toBe(200)
    // The other node may have been the one that began to use it.
    await expect.poll(() => faultsOf(node)).toEqual([])
  }
  await expect
    .poll(async () => {
      await passTime(second, a, b)
      return receiver.posts.length
    })
    .toBe(mails.length)
  for (const { headers, body } of receiver.posts) expect(() => new StandardWebhook(secret).verify(body, headers)).not.toThrow()

  // All is sealed with the newest key alone, also what the nodes have sealed while they changed.
  const alone = join(testDirectory(), 'alone.key')
  writeFileSync(alone, readFileSync(keyFiles.a).subarray(0, 45), { mode: 0o600 })
  await expect
    .poll(async () => {
      await passTime(second, a, b)
      return tryToOpen(a.relay.services.db, readKeyFile(alone))
    })
    .toMatchObject({ shut: 0 })

  const another = started.startAnother({ secret_key_file: copy }, settableClock(a.clock.now()))
  await expect(another).rejects.toThrow(/or is from before the last "sterna rotate secret-key": then copy that of a node that runs/)
})
