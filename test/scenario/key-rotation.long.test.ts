import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { simpleParser } from 'mailparser'
import { expect, onTestFinished, test } from 'vitest'
import { addGeneration, fingerprintOf, readKeyFile } from '../../src/senders/account/key-file.ts'
import { tryToOpen } from '../../src/senders/account/sealed-secrets.ts'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { restoreBackup } from '../../src/clients/command/restore.ts'
import { cutOffBefore } from '../support/cut-off.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const command = async (relay: TestRelay, ...argv: string[]) => {
  const ran = await runCommand({ argv, cwd: '/' }, relay.relay.services)
  expect(ran).toMatchObject({ exitCode: 0 })
  return ran
}

/** A relay that has sent a tracked email to Ann with a link to unsubscribe, and forgotten Bob, who had unsubscribed. */
async function startSent() {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port), tracking_settle: '5s' }, { 'rcpt.example': { a: ['127.0.0.2'] } })
  onTestFinished(() => relay.stop())
  const add = await relay.call('POST', '/api/webhooks', { url: 'https://app.example/hook', events: ['email.delivered'] })
  expect(add.status).toBe(201)
  await relay.call('POST', '/api/suppressions', { email: 'bob@rcpt.example' })
  await command(relay, 'erase', 'bob@rcpt.example', '--yes')
  const send = async (to: string) => {
    await relay.send(to, {
      unsubscribe: true,
      html: '<p><a href="https://shop.example/">Shop</a></p>',
      tracking: { clicks: true, opens: true },
    })
    const sent = () => mx.messages.find(({ rcptTo }) => rcptTo[0] === to)
    await expect.poll(sent).toBeDefined()
    const { data, mailFrom } = sent()!
    const { html } = await simpleParser(data)
    const link = /https?:\/\/[^/]+(\/t\/c\/[\w/-]+)/.exec(html || '')?.[1] ?? ''
    const unsubscribe = /^List-Unsubscribe:\s+<https?:\/\/[^/]+(\/u\/[\w-]+)>/m.exec(data.toString())?.[1] ?? ''
    return { link, unsubscribe, mailFrom, data }
  }
  return { relay, send, ann: await send('ann@rcpt.example') }
}

type Sent = Awaited<ReturnType<typeof startSent>>['ann']

/** What somebody finds who uses what the email brought. */
async function use(relay: TestRelay, { link, unsubscribe, mailFrom }: Sent) {
  const clicked = await fetch(relay.baseUrl + link, { redirect: 'manual' })
  const page = await fetch(relay.baseUrl + unsubscribe)
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.example')
  await client.command('MAIL FROM:<>')
  const { code } = await client.command(`RCPT TO:<${mailFrom}>`)
  client.close()
  return { target: clicked.headers.get('location'), page: page.status, bounce: code }
}

const works = { target: 'https://shop.example/', page: 200, bounce: 250 }

test('a new key seals and signs while the server runs, and what the earlier one made stays valid', async () => {
  const { relay, send, ann } = await startSent()
  const { secretKeyFile } = relay.relay.services.config
  const { secrets } = relay.relay.services
  expect(await use(relay, ann)).toEqual(works)
  const early = await send('early@rcpt.example')
  const before = readFileSync(secretKeyFile, 'latin1')

  const { stdout } = await command(relay, 'rotate', 'secret-key')
  expect(stdout).toBe(`${secretKeyFile}\n`)
  expect(readFileSync(secretKeyFile, 'latin1').split('\n')).toEqual([expect.stringMatching(/^[\w+/]{43}=$/), before.trim(), ''])
  await expect.poll(() => secrets.used === secrets.newest && secrets.generations.length).toBe(2)
  for (const mail of [ann, early]) expect(await use(relay, mail)).toEqual(works)
  const cid = await send('cid@rcpt.example')
  expect(await use(relay, cid)).toEqual(works)
  expect(cid.data.toString()).toContain('DKIM-Signature')
  // Bob, whose address was replaced under the earlier key, is suppressed; so is who is forgotten under this one.
  await relay.call('POST', '/api/suppressions', { email: 'dan@rcpt.example' })
  await command(relay, 'erase', 'dan@rcpt.example', '--yes')
  for (const email of ['bob@rcpt.example', 'dan@rcpt.example']) {
    expect(Object.values(await relay.recipients(await relay.send(email)))).toMatchObject([{ status: 'suppressed' }])
    expect((await relay.call('GET', `/api/suppressions/${email}`)).status).toBe(200)
  }

  // All is sealed with the newest key alone.
  const alone = join(testDirectory(), 'alone.key')
  writeFileSync(alone, readFileSync(secretKeyFile).subarray(0, 45), { mode: 0o600 })
  await expect.poll(() => tryToOpen(relay.relay.services.db, readKeyFile(alone))).toMatchObject({ shut: 0 })
  expect((await tryToOpen(relay.relay.services.db, readKeyFile(alone))).opened).toBeGreaterThan(2)
  expect((await fetch(`${relay.baseUrl}/healthz`)).status).toBe(200)
  await relay.restart()
  for (const mail of [ann, cid]) expect(await use(relay, mail)).toEqual(works)
})

test('a key that was added while no server ran is in use once one has started', async () => {
  const { relay, ann } = await startSent()
  const { secretKeyFile } = relay.relay.services.config
  await relay.restart(async () => addGeneration(secretKeyFile))
  const { secrets } = relay.relay.services
  expect(secrets.used).toBe(fingerprintOf(readKeyFile(secretKeyFile)))
  expect(await use(relay, ann)).toEqual(works)
})

test('a backup from before the rotation is restored with the key of then or of now, and keeps the newer keys', async () => {
  const { relay, ann } = await startSent()
  const { config } = relay.relay.services
  const file = join(testDirectory(), 'backup.db')
  await command(relay, 'backup', file, '--with-key')
  await command(relay, 'rotate', 'secret-key')
  await relay.restart()
  const rotated = readFileSync(config.secretKeyFile, 'latin1')
  const restore = (options: Record<string, string | boolean>) => restoreBackup({ args: [file], options, cwd: '/' }, config)

  await relay.restart(() => restore({ force: true }))
  expect(readFileSync(config.secretKeyFile, 'latin1')).toBe(rotated)
  expect(await use(relay, ann)).toEqual(works)

  // On another machine there is only what was kept.
  await relay.restart(async () => {
    rmSync(config.secretKeyFile)
    await restore({ force: true })
  })
  expect(readFileSync(config.secretKeyFile, 'latin1')).toBe(readFileSync(`${file}.key`, 'latin1'))
  expect(await use(relay, ann)).toEqual(works)
})

test('a rotation that is cut off at any step leaves a key file with all that is needed', async () => {
  const { relay, ann } = await startSent()
  const { secretKeyFile } = relay.relay.services.config
  for (let count = 1, isCutOff = true; isCutOff; count++) {
    const before = readFileSync(secretKeyFile, 'latin1')
    isCutOff = (await cutOffBefore(count, async () => addGeneration(secretKeyFile))) >= count
    expect(readFileSync(secretKeyFile, 'latin1').endsWith(before)).toBe(true)
    await relay.restart()
    expect(await use(relay, ann)).toEqual(works)
  }
})
