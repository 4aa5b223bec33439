import { expect, test } from 'vitest'
import { mailQuota } from '../../src/senders/account/account-policy.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { passTime, startTwoNodes } from '../support/two-nodes.ts'

/** Limits that hold in the sum of two nodes. */
async function start(settings: Record<string, string> = {}) {
  const { a, b } = await startTwoNodes(settings)
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  const domain = await sendingDomains.add(account.id, 'sender.example')
  await sendingDomains.verifyManually(domain.id)
  await b.relay.services.changes.caughtUp()
  // Each hears of the other with its next beat.
  await passTime(1_000, a, b)
  return { a, b, account, token }
}

test('two nodes that are sent to at once take exactly what a quota allows', async () => {
  const { a, b, account, token } = await start()
  await a.relay.services.policies.change(mailQuota, account.id, { day: 50 })
  await b.relay.services.changes.caughtUp()
  const body = { from: 'app@sender.example', to: 'bob@rcpt.example', subject: 'Hi', text: 'Hi' }
  const answers = await Promise.all(
    Array.from({ length: 80 }, (_, place) => (place % 2 ? a : b).call('POST', '/api/send', { token, body })),
  )
  const count = (name?: string) => answers.filter((answer) => answer.body.name === name).length
  expect([count(), count('daily_quota_exceeded')]).toEqual([50, 30])
  expect((await b.call('GET', '/api/account/quota', { token })).body).toMatchObject({ day: { limit: 50, used: 50 } })
})

test('requests without a valid key from one address are held up after as many as are allowed, whichever node they come to', async () => {
  const { a, b } = await start({ http_failed_authentications_per_minute: '20' })
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, place) => (place % 2 ? a : b).call('GET', '/api/domains', { token: 'wrong' })),
  )
  const count = (status: number) => answers.filter((answer) => answer.status === status).length
  expect([count(401), count(429)]).toEqual([20, 10])
})

test('an account may submit as many messages a minute over SMTP as are allowed, at both nodes together', async () => {
  const { a, b, token } = await start({ submission_messages_per_minute: '10' })
  const clients = await Promise.all([a, b].map(({ submissionPort }) => SmtpClient.logIn(submissionPort, token)))
  const codes: number[] = []
  for (let message = 0; message < 8; message++) {
    for (const client of clients) {
      codes.push((await client.command('MAIL FROM:<app@sender.example>')).code)
      await client.command('RSET')
    }
  }
  expect([250, 451].map((code) => codes.filter((each) => each === code).length)).toEqual([10, 6])
})
