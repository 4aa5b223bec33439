import { expect, test } from 'vitest'
import { visitDashboard } from '../support/dashboard-visit.ts'

test('a key is limited to a domain and a time, and rotated so that its old token ends at once', async () => {
  const { relay, tab } = await visitDashboard()
  const statusWith = async (token: string | null): Promise<number> => {
    const body = JSON.stringify({ from: 'app@sender.example', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello' })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return (await fetch(`${relay.baseUrl}/api/emails`, { method: 'POST', headers, body })).status
  }
  const token = tab.locator('.token code')
  await tab.goto(`${relay.baseUrl}/keys`)
  await tab.getByRole('button', { name: 'Create an API key' }).first().click()
  await tab.getByLabel('What is it for?').fill('shop')
  await tab.getByRole('dialog').getByLabel('Domain').selectOption('sender.example')
  await tab.getByLabel('Expires').selectOption('after 30 days')
  await tab.getByRole('dialog').getByRole('button', { name: 'Create an API key' }).click()
  const first = await token.textContent()
  const row = tab.getByRole('row', { name: /shop/ })
  await row.getByText('sender.example').waitFor()
  await row.getByText(/until/).waitFor()
  expect(await statusWith(first)).toBe(200)
  await row.getByRole('button', { name: 'New token' }).click()
  await tab.getByLabel('The old token works for').selectOption('no longer')
  await tab.getByRole('dialog').getByRole('button', { name: 'New token' }).click()
  await expect.poll(() => token.textContent()).not.toBe(first)
  expect(await statusWith(await token.textContent())).toBe(200)
  expect(await statusWith(first)).toBe(401)
})
