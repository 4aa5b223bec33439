import { expect, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { ResetRequests } from '../../../src/notify/password-reset/reset-requests.ts'
import type { SystemMail } from '../../../src/mail-in/submission/system-mail.ts'
import { testCore } from '../../support/test-core.ts'

const request = { email: 'ann@acme.example', address: '192.0.2.7', requestId: 'req_1' }

test('a request is answered before anybody looks whether there is such a user', async () => {
  const core = await testCore()
  const looked: string[] = []
  const users = {
    withEmail(email: string) {
      looked.push(email)
      return []
    },
  }
  const services = { ...core, ...core.people, users, systemMail: { send: () => Promise.reject(new Error('not called')) } }
  const requests = new ResetRequests(services, { baseUrl: 'https://mail.example.com', canMail: true })
  await requests.take(request)
  expect(looked).toEqual([])
  await requests.idle()
  expect(looked).toEqual(['ann@acme.example'])
})

test('a mail that cannot be sent keeps no other from being sent', async () => {
  const core = await testCore()
  const { id: accountId } = await core.accounts.create('acme', 'free')
  for (const email of ['ann@acme.example', 'bob@acme.example']) {
    const { token } = await core.people.users.invite({ accountId, email, role: 'member', operator: false })
    await core.people.users.takeInvitation(token, 'correct horse battery')
  }
  const sent: string[] = []
  const systemMail = {
    send({ to }: { to: string }) {
      sent.push(to)
      return sent.length === 1 ? Promise.reject(new Error('the disk is full')) : Promise.resolve()
    },
  }
  const requests = new ResetRequests(
    { ...core, ...core.people, log: silentLog, systemMail },
    { baseUrl: 'https://mail.example.com', canMail: true },
  )
  await requests.take(request)
  await requests.take({ ...request, email: 'bob@acme.example' })
  await requests.idle()
  expect(sent).toEqual(['ann@acme.example', 'bob@acme.example'])
})

test('users that other accounts add with the address keep the mail from no user who was there before', async () => {
  const core = await testCore()
  const sent: string[] = []
  const systemMail = {
    send: ({ parts }: SystemMail) => Promise.resolve(sent.push(Buffer.from(parts[0]?.bytes ?? []).toString())),
  }
  for (let count = 0; count <= 10; count++) {
    const { id: accountId } = await core.accounts.create(`account ${count}`, 'free')
    const { token } = await core.people.users.invite({ accountId, email: request.email, role: 'member', operator: false })
    const user = await core.people.users.takeInvitation(token, 'correct horse battery')
    core.clock.advance(1000)
    if (count > 0) await core.people.sessions.begin(user, { address: '192.0.2.1', userAgent: 'test' })
  }
  const requests = new ResetRequests({ ...core, ...core.people, systemMail }, { baseUrl: 'https://mail.example.com', canMail: true })
  await requests.take(request)
  await requests.idle()
  expect(sent).toHaveLength(10)
  expect(sent[0]).toContain('account 0')
})

test('a server that sends no mail says who can help, for every address', async () => {
  const core = await testCore()
  const systemMail = { send: () => Promise.reject(new Error('not called')) }
  const requests = new ResetRequests({ ...core, ...core.people, systemMail }, { baseUrl: 'https://mail.example.com', canMail: false })
  await expect(requests.take(request)).rejects.toThrow(/sterna user reset EMAIL/)
})
