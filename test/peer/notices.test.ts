import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createTransport } from 'nodemailer'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory, startPostfixInstance, type PostfixInstance } from '../../bench/postfix-instance.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/**
 * An app hands its mail to a Postfix of its own, which relays it through us with the DSN parameters that the app gave, and
 * is the mail server of the app's domain: our notices come to it, and Python's email package reads them.
 */
let receiver: FakeMx
let relay: TestRelay
let postfix: PostfixInstance
let postfixPort = 0
const postfixHost = '127.0.3.6'

beforeAll(async () => {
  receiver = await startFakeMx({
    host: '127.0.3.5',
    port: await freePort(),
    on: {
      rcpt: (address) => {
        if (address.startsWith('gone')) return '550 5.1.1 No such user here'
        return address.startsWith('later') ? '451 4.7.1 Greylisted, come back later' : undefined
      },
    },
  })
  postfixPort = receiver.port
  relay = await startTestRelay(
    { delivery_port: String(postfixPort) },
    {
      'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: ['127.0.3.5'] },
      'sender.example': { mx: [[10, 'mx.sender.example']] },
      'mx.sender.example': { a: [postfixHost] },
    },
  )
  await relay.call('PATCH', '/api/account', { delivery_notices: true })
  postfix = await startAppsPostfix()
}, 180_000)

afterEach(() => rmSync(mailbox(), { recursive: true, force: true }))

afterAll(async () => {
  postfix.stop()
  await relay.stop()
  await receiver.close()
})

const mailbox = (): string => join(postfix.directory, 'mail/box')

/** It relays through us as any client with an API key, and keeps all mail for sender.example in one Maildir. */
async function startAppsPostfix(): Promise<PostfixInstance> {
  const directory = postfixDirectory()
  const mail = join(directory, 'mail')
  mkdirSync(mail)
  execFileSync('chown', ['nobody', mail])
  const uid = execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).trim()
  return startPostfixInstance(
    directory,
    { host: postfixHost, port: postfixPort },
    {
      myhostname: 'mx.sender.example',
      relayhost: `[127.0.0.1]:${relay.submissionPort}`,
      smtp_tls_security_level: 'encrypt',
      smtp_sasl_auth_enable: 'yes',
      smtp_sasl_password_maps: `static:any:${relay.token}`,
      smtp_sasl_security_options: 'noanonymous',
      virtual_mailbox_domains: 'sender.example',
      virtual_mailbox_base: mail,
      virtual_mailbox_maps: 'static:box/',
      virtual_uid_maps: `static:${uid}`,
      virtual_gid_maps: `static:${uid}`,
    },
  )
}

interface Dsn {
  id: string
  return: 'headers' | 'full'
  notify: string | string[]
}

async function sendByPostfix(to: string[], dsn: Dsn): Promise<void> {
  const transport = createTransport({ host: postfixHost, port: postfixPort, ignoreTLS: true })
  await transport.sendMail({
    from: 'app@sender.example',
    envelope: { from: 'bounces@sender.example', to },
    to: 'you@rcpt.example',
    subject: 'Your order',
    text: 'The body.',
    dsn,
  })
  transport.close()
}

/** Who the receiver was asked to take mail for, with a message of ours. */
const asked = (address: string): boolean =>
  receiver.sessions.some(({ commands }) => commands.some((command) => command.startsWith(`RCPT TO:<${address}>`)))

const arrived = (): string[] => (existsSync(join(mailbox(), 'new')) ? readdirSync(join(mailbox(), 'new')) : [])

/** A notice as Python's email package reads it. */
interface Read {
  types: string[]
  report_type: string
  from: string
  auto_submitted: string
  return_path: string
  blocks: Record<string, string>[]
  text: string
  defects: string[]
}

const script = `
import email, email.policy, json, sys
message = email.message_from_bytes(open(sys.argv[1], 'rb').read(), policy=email.policy.default)
status = next(part for part in message.walk() if part.get_content_type() == 'message/delivery-status')
print(json.dumps({
  'types': [part.get_content_type() for part in message.iter_parts()],
  'report_type': message.get_param('report-type'),
  'from': message['from'].addresses[0].addr_spec,
  'auto_submitted': str(message['auto-submitted']),
  'return_path': str(message['return-path']),
  'blocks': [{name.lower(): str(value) for name, value in block.items()} for block in status.get_payload()],
  'text': message.get_body().get_content(),
  'defects': [str(defect) for part in message.walk() for defect in part.defects],
}))
`

async function notices(count: number): Promise<Read[]> {
  await expect.poll(() => arrived().length).toBe(count)
  const read = async (name: string): Promise<Read> =>
    JSON.parse((await promisify(execFile)('python3', ['-c', script, join(mailbox(), 'new', name)])).stdout)
  return Promise.all(arrived().map(read))
}

test('NOTIFY=FAILURE,DELAY RET=HDRS ENVID: a notice of the failure, and a warning of the delay', async () => {
  await sendByPostfix(['gone@rcpt.example', 'later@rcpt.example', 'ann@rcpt.example'], {
    id: 'order+7',
    return: 'headers',
    notify: ['failure', 'delay'],
  })
  const [failure] = await notices(1)
  expect(failure).toMatchObject({
    types: ['text/plain', 'message/delivery-status', 'text/rfc822-headers'],
    report_type: 'delivery-status',
    from: 'postmaster@relay.example',
    auto_submitted: 'auto-replied',
    return_path: '<>',
    text: expect.stringContaining('could not be delivered'),
    defects: [],
  })
  const [message, recipient, ...more] = failure?.blocks ?? []
  expect(message).toMatchObject({ 'reporting-mta': 'dns; relay.example', 'original-envelope-id': 'order+7' })
  expect(recipient).toMatchObject({
    'original-recipient': 'rfc822; gone@rcpt.example',
    'final-recipient': 'rfc822; gone@rcpt.example',
    action: 'failed',
    status: '5.1.1',
    'remote-mta': 'dns; mx.rcpt.example',
    'diagnostic-code': 'smtp; 550 5.1.1 No such user here',
  })
  expect(more).toEqual([])

  const { db } = relay.relay.services
  await expect.poll(() => db.read('select 1 from notice where due_at is not null')).toHaveLength(1)
  relay.clock.advance(4 * 3_600_000 + 60_000)
  const warning = (await notices(2)).find(({ blocks }) => blocks[1]?.action === 'delayed')
  expect(warning?.blocks[0]).toMatchObject({ 'original-envelope-id': 'order+7' })
  expect(warning?.blocks[1]).toMatchObject({
    'final-recipient': 'rfc822; later@rcpt.example',
    status: '4.7.1',
    'will-retry-until': expect.stringContaining('2026'),
  })
  expect(warning?.defects).toEqual([])
})

test('NOTIFY=NEVER: none', async () => {
  await sendByPostfix(['gone-never@rcpt.example'], { id: 'order-8', return: 'full', notify: 'never' })
  await expect.poll(() => asked('gone-never@rcpt.example')).toBe(true)
  // What comes after it is told of, so it would have been before.
  await sendByPostfix(['gone-after@rcpt.example'], { id: 'order-9', return: 'full', notify: 'failure' })
  const [only] = await notices(1)
  expect(only?.blocks[1]).toMatchObject({ 'final-recipient': 'rfc822; gone-after@rcpt.example' })
  expect(only?.types).toEqual(['text/plain', 'message/delivery-status', 'message/rfc822'])
})

test('NOTIFY=SUCCESS: a notice of the delivery', async () => {
  await sendByPostfix(['bob@rcpt.example'], { id: 'order-10', return: 'headers', notify: 'success' })
  const [success] = await notices(1)
  expect(success?.blocks[1]).toMatchObject({ 'final-recipient': 'rfc822; bob@rcpt.example', action: 'delivered', status: '2.0.0' })
})
