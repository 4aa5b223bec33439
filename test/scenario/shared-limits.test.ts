import { expect, test } from 'vitest'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'

const password = 'correct horse battery'

async function startWithUser(): Promise<{ a: TestNode; b: TestNode; inTurn(count: number): TestNode[] }> {
  const { a, b } = await startTwoNodes()
  const { accounts, people, changes } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const { token } = await people.users.invite({ accountId: account.id, email: 'ann@shop.example', role: 'owner', operator: false })
  const taken = people.users.takeInvitation(token, password)
  let isDone = false
  void taken.finally(() => (isDone = true)).catch(() => {})
  await expect
    .poll(async () => {
      await passTime(1_000, a, b)
      return isDone
    })
    .toBe(true)
  await changes.caughtUp()
  await b.relay.services.changes.caughtUp()
  return { a, b, inTurn: (count) => Array.from({ length: count }, (_, place) => (place % 2 === 0 ? a : b)) }
}

const logIn = (node: TestNode, body: { email: string; password: string }) => node.call('POST', '/session', { body })

test('twenty wrong passwords over two nodes shut out as twenty at one do', async () => {
  const { a, b, inTurn } = await startWithUser()
  const wrong = { email: 'ann@shop.example', password: 'a guess' }
  for (const node of inTurn(20)) expect((await logIn(node, wrong)).status).toBe(401)
  for (const node of [a, b]) expect((await logIn(node, { ...wrong, password })).body.name).toBe('rate_limit_exceeded')
})

test('three mails for a new password go to an address in an hour, whichever nodes are asked', async () => {
  const { a, inTurn } = await startWithUser()
  const ask = (node: TestNode) => node.call('POST', '/session/password/reset', { body: { email: 'ann@shop.example' } })
  const answers = await Promise.all(inTurn(8).map(ask))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 202, 202, 429, 429, 429, 429, 429])
  await expect.poll(() => a.relay.services.db.read('select id from message')).toHaveLength(3)
})

test('a plan of a hundred requests a minute answers exactly a hundred over two nodes', async () => {
  const { a, b } = await startTwoNodes({ plans: 'free=100' })
  const { accounts, apiKeys } = a.relay.services
  const account = await accounts.create('shop', 'free')
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  await b.relay.services.changes.caughtUp()
  const get = (node: TestNode) => fetch(`${node.baseUrl}/api/domains`, { headers: { authorization: `Bearer ${token}` } })
  let accepted = 0
  let rounds = 0
  await expect
    .poll(async () => {
      // At first one node is asked alone, which leaves a part to the other.
      const asked = [...Array<TestNode>(20).fill(a), ...(rounds++ < 2 ? [] : Array<TestNode>(20).fill(b))]
      const answers = await Promise.all(asked.map(get))
      accepted += answers.filter(({ status }) => status === 200).length
      await passTime(1_000, a, b)
      return accepted
    })
    .toBeGreaterThanOrEqual(100)
  expect(accepted).toBe(100)
  for (const node of [a, b]) {
    const { status, headers } = await get(node)
    expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([429, '100', '0'])
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60)
  }
})
