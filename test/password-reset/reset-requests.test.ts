import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { ResetRequests } from '../../src/password-reset/reset-requests.ts'
import { testCore } from '../support/test-core.ts'

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
  requests.take(request)
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
  requests.take(request)
  requests.take({ ...request, email: 'bob@acme.example' })
  await requests.idle()
  expect(sent).toEqual(['ann@acme.example', 'bob@acme.example'])
})

test('a server that sends no mail says who can help, for every address', async () => {
  const core = await testCore()
  const systemMail = { send: () => Promise.reject(new Error('not called')) }
  const requests = new ResetRequests({ ...core, ...core.people, systemMail }, { baseUrl: 'https://mail.example.com', canMail: false })
  expect(() => requests.take(request)).toThrow(/sterna user reset EMAIL/)
})
