import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let inbox: FakeMx
let receiver: FakeMx
let relay: TestRelay

beforeAll(async () => {
  receiver = await startFakeMx({ host: '127.0.3.3', on: { rcpt: () => '550 5.1.1 No such user' } })
  inbox = await startFakeMx({ host: '127.0.3.4', port: receiver.port })
  relay = await startTestRelay(
    { delivery_port: String(receiver.port) },
    {
      'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: ['127.0.3.3'] },
      'sender.example': { mx: [[10, 'mx.sender.example']] },
      'mx.sender.example': { a: ['127.0.3.4'] },
    },
  )
  await relay.call('PATCH', '/api/account', { delivery_notices: true })
})

afterAll(async () => {
  await relay.stop()
  await Promise.all([receiver.close(), inbox.close()])
})

async function command(...argv: string[]): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  return runCommand({ argv, cwd: '/' }, relay.relay.services)
}

/** Has a notice sent: the server's own mail as it comes about. */
async function notice(): Promise<string> {
  const before = inbox.messages.length
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const message = 'From: app@sender.example\r\nSubject: Hello\r\n\r\nHello.'
  expect((await client.send(message, { from: 'app@sender.example', to: [`gone${before}@rcpt.example`] })).code).toBe(250)
  client.close()
  await expect.poll(() => inbox.messages.length).toBe(before + 1)
  return inbox.messages.at(-1)?.data.toString() ?? ''
}

const operatorToken = async (): Promise<string> => {
  const { apiKeys, accounts } = relay.relay.services
  return (await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })).token
}

test('leaves unsigned until the DKIM record of the name of the server is seen, and signed from then on', async () => {
  expect(await notice()).not.toMatch(/^DKIM-Signature:/im)
  const authorization = `Bearer ${await operatorToken()}`
  const { body } = await relay.call('GET', '/api/server/domain', undefined, { authorization })
  expect(body).toMatchObject({ name: 'relay.example', status: 'not_started' })
  expect((await relay.call('GET', '/api/server/domain')).status).toBe(403)
  const names = body.records.map(({ record, name }: { record: string; name: string }) => `${record} ${name.replace(/^s\w+\./, '')}`)
  expect(names).toEqual([
    'DKIM _domainkey.relay.example',
    'DKIM _domainkey.relay.example',
    'SPF relay.example',
    'DMARC _dmarc.relay.example',
  ])
  for (const { type, name, value } of body.records) if (type === 'TXT') relay.dns.zone[name] = { txt: [value] }
  const { stdout, exitCode } = await command('domain', 'verify', 'relay.example')
  expect([stdout, exitCode]).toEqual(['relay.example is verified\n', 0])
  const signed = await notice()
  expect(signed.match(/^DKIM-Signature: .*/gim)?.length).toBe(2)
  expect(signed).toMatch(/d=relay\.example;/)
})

test('its domain stays as long as the name does', async () => {
  const before = (await command('domain', 'list', '--json')).stdout
  expect(JSON.parse(before).data.filter(({ name }: { name: string }) => name === 'relay.example')).toHaveLength(1)
  expect((await command('domain', 'list')).stdout).toMatch(/relay\.example .*\(this server\)/)
  const { stderr, exitCode } = await command('domain', 'remove', 'relay.example')
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('is the name of this server')])
  await relay.restart()
  expect((await command('domain', 'list', '--json')).stdout).toBe(before)
  // An account may have the same name; then the name means that one.
  await command('domain', 'add', 'relay.example', '--account', 'test')
  expect((await command('domain', 'show', 'relay.example', '--json')).stdout).toContain('send.relay.example')
  await command('domain', 'remove', 'relay.example')
})

test('its account is nobody: not in a list, and without a key', async () => {
  const id = 'acc_00000000000000000000000000'
  for (const argv of [
    ['key', 'create', '--account', id],
    ['account', 'notices', id, 'on'],
    ['account', 'delete', id],
    ['webhook', 'add', 'https://a.example/', '--account', id],
  ]) {
    expect((await command(...argv)).stderr).toContain('There is no account')
  }
  expect((await command('account', 'list')).stdout).not.toContain(id)
})
