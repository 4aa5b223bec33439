import { expect, test } from 'vitest'
import { recipientTlsPolicy, retrySchedule } from '../../src/senders/account/account-policy.ts'
import { faultsShown, pageFaults, visitDashboard } from '../support/dashboard-visit.ts'

test('an operator gives an account values of its own, is told what is no value, and takes them back', async () => {
  const { relay, tab } = await visitDashboard()
  const { accounts, policies } = relay.relay.services
  const { id } = await accounts.create('shop', 'enterprise')
  await tab.goto(`${relay.baseUrl}/people?view=accounts`)
  await tab.getByRole('row', { name: /^shop/ }).getByRole('link', { name: 'Policies' }).click()
  await tab.getByRole('heading', { name: 'What applies to shop' }).waitFor()

  const retries = tab.getByRole('region', { name: 'Retry schedule' })
  const waits = retries.getByLabel('Waits between attempts')
  await waits.fill('1m, soon')
  await retries.getByRole('button', { name: 'Save' }).click()
  await retries.getByText('“soon” is no duration.').waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await waits.fill('2m, 1h')
  await retries.getByRole('button', { name: 'Save' }).click()
  await retries.getByText('In force: 2m, 1h.').waitFor()
  expect(policies.of(retrySchedule, id).delays).toEqual([120_000, 3_600_000])
  await waits.fill('')
  await retries.getByRole('button', { name: 'Save' }).click()
  await retries.getByText('In force: 1m, 5m, 15m, 30m, 1h, 2h, 4h, 6h.').waitFor()
  expect(policies.ownOf(retrySchedule, id).delays).toBeNull()

  const recipientTls = tab.getByRole('region', { name: 'TLS by recipient domain' })
  const required = recipientTls.getByLabel('Required TLS')
  for (const [typed, own] of [
    ['bank.example=verify', { 'bank.example': 'verify' }],
    ['none', {}],
  ] as const) {
    await required.fill(typed)
    await recipientTls.getByRole('button', { name: 'Save' }).click()
    await recipientTls.getByText(`In force: ${typed}.`).waitFor()
    expect(policies.ownOf(recipientTlsPolicy, id).recipientTls).toEqual(own)
  }

  const suppression = tab.getByRole('region', { name: 'What suppresses an address' })
  await suppression.getByLabel('Complaints suppress').selectOption('No')
  await suppression.getByLabel('A suppression after a bounce lasts').fill('90d')
  await suppression.getByRole('button', { name: 'Save' }).click()
  await suppression.getByText('In force: 90d.').waitFor()
  const quota = tab.getByRole('region', { name: 'Mail quota' })
  await quota.getByLabel('Recipients a day').fill('many')
  await quota.getByRole('button', { name: 'Save' }).click()
  await quota.getByRole('alert').waitFor()
  await quota.getByLabel('Recipients a day').fill('500')
  await quota.getByRole('button', { name: 'Save' }).click()
  await quota.getByText('In force: 500.').waitFor()
  const notices = tab.getByRole('region', { name: 'Delivery notices' })
  await notices.getByRole('combobox').selectOption('Yes')
  await notices.getByRole('button', { name: 'Save' }).click()
  await expect.poll(() => notices.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
  await tab.reload()
  await expect.poll(() => required.inputValue()).toBe('none')
  expect(await notices.getByRole('combobox').inputValue()).toBe('true')
  expect(await suppression.getByLabel('Complaints suppress').inputValue()).toBe('false')
})

test('the page of an account passes the accessibility rules in both themes, wide and narrow', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard()
  const { id } = await relay.relay.services.accounts.create('shop', 'enterprise')
  expect(await pageFaults(tab, relay.baseUrl, [['account', `/accounts/${id}`]])).toEqual([])
})
