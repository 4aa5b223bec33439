import { expect, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { composeChangeMail } from '../../../src/notify/password-reset/compose-change-mail.ts'
import { LoginChanges } from '../../../src/notify/password-reset/login-changes.ts'
import { testCore } from '../../support/test-core.ts'

const client = { address: '192.0.2.7', userAgent: 'Firefox' }
const settings = { baseUrl: 'https://mail.example.com', canMail: true }

test('a change waits for no mail, and one that cannot be sent keeps no other from being sent', async () => {
  const core = await testCore()
  const sent: string[] = []
  const systemMail = {
    send({ to }: { to: string }) {
      sent.push(to)
      return sent.length === 1 ? Promise.reject(new Error('the disk is full')) : Promise.resolve()
    },
  }
  const changes = new LoginChanges({ ...core, ...core.people, log: silentLog, systemMail }, settings)
  for (const email of ['ann@acme.example', 'bob@acme.example']) changes.tell({ email, accountId: 'acc_1' }, 'password', client)
  expect(sent).toEqual([])
  await changes.idle()
  expect(sent).toEqual(['ann@acme.example', 'bob@acme.example'])
})

test('where no mail may leave the machine, nobody is told', async () => {
  const core = await testCore()
  const systemMail = { send: () => Promise.reject(new Error('not called')) }
  const changes = new LoginChanges({ ...core, ...core.people, systemMail }, { ...settings, canMail: false })
  changes.tell({ email: 'ann@acme.example', accountId: 'acc_1' }, 'password', client)
  await changes.idle()
})

test('what a program says about itself makes no line and no page of its own', () => {
  const userAgent = `x\r\nBcc: a@b.example\u202e<img src=x>${'y'.repeat(9_000)}`
  const mail = { to: 'ann@acme.example', change: 'passkey_added', server: 'https://mail.example.com', account: 'Acme' } as const
  const [text, html] = composeChangeMail({ ...mail, address: '192.0.2.7', userAgent, at: 0 }).parts.map(({ bytes }) =>
    Buffer.from(bytes).toString(),
  )
  expect(text).toContain('in the account "Acme"')
  expect(text).not.toMatch(/^Bcc|\u202e/m)
  expect(text?.length).toBeLessThan(1_000)
  expect(html).not.toContain('<img')
})
