import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { countHistory } from '../support/counted-history.ts'
import { faultsShown, keepScreenshot, pageFaults, visitDashboard } from '../support/dashboard-visit.ts'

const hourMs = 3_600_000
const html = '<table width="600" align="center"><tr><td><h1>Thank you</h1><p>We have packed your order 10482.</p></td></tr></table>'

const widthOf = async (part: Locator): Promise<number> => (await part.boundingBox())?.width ?? 0

/** The tabs whose words are cut at an edge. */
const cutTabs = (tab: Page): Promise<string[]> =>
  tab.locator('[role=tablist]').evaluateAll((lists) =>
    lists.flatMap((list: any) =>
      Array.from(list.children as any[])
        .filter((each) => each.getBoundingClientRect().right > list.getBoundingClientRect().right + 1)
        .map((each) => each.textContent),
    ),
  )

test('an email is shown as wide as it is read, and an empty preview says why', async () => {
  const { relay, tab, complaints } = await visitDashboard()
  const id = await relay.send('ann@inbox.example', { subject: 'Your order', html, text: 'Thank you' })
  const address = `${relay.baseUrl}/emails/${id}`
  await tab.goto(address)
  const frame = tab.getByTitle('The email as its reader sees it')
  expect(await tab.getByRole('button', { name: 'Desktop' }).getAttribute('aria-pressed')).toBe('true')
  expect(await widthOf(frame)).toBeGreaterThan(616)
  expect(await cutTabs(tab)).toEqual([])
  expect(await pageFaults(tab, relay.baseUrl, [['email', `/emails/${id}`]])).toEqual([])
  expect(await cutTabs(tab)).toEqual([])
  await tab.goto(address)
  expect(await tab.getByRole('button', { name: 'Phone' }).getAttribute('aria-pressed')).toBe('true')

  const picture = await relay.send('ann@inbox.example', { subject: 'Picture', html: '<img src="https://outside.example/all.png" alt="">' })
  await tab.goto(`${relay.baseUrl}/emails/${picture}`)
  await tab.getByText('this email has nothing but remote images').waitFor()
  // Blocked, as it has to be.
  await expect.poll(() => complaints.splice(0)).toContain('request to https://outside.example/all.png')
  const nothing = await relay.send('ann@inbox.example', {
    subject: 'Nothing',
    html: '<style>p { color: red }</style><p>&nbsp;</p>',
    text: 'Hello',
  })
  await tab.goto(`${relay.baseUrl}/emails/${nothing}`)
  await tab.getByText('the HTML of this email shows nothing').waitFor()
  expect(await faultsShown(tab)).toEqual([])
})

test('suppressions on a phone show address, cause and date, and the reply once it is asked for', async () => {
  const { relay, tab } = await visitDashboard()
  const reply = `550 5.1.1 <gone@inbox.example>: Recipient address rejected: User unknown in local recipient table, see https://inbox.example/help/answers/6596 for ${'more '.repeat(12)}`
  for (let place = 0; place < 26; place++)
    await relay.call('POST', '/api/suppressions', { email: `person${place}@inbox.example`, reason: reply })
  await tab.setViewportSize({ width: 390, height: 900 })
  await tab.goto(`${relay.baseUrl}/suppressions`)
  const first = tab.getByRole('row').filter({ hasText: 'person25@inbox.example' })
  await first.getByText('added by hand').waitFor()
  await keepScreenshot(tab, 'suppressions-390')
  const height = await tab.getByRole('table').evaluate((table: any) => table.offsetHeight as number)
  expect(height).toBeLessThan(26 * 100)
  const shown = first.locator('details').getByText('User unknown in local recipient table')
  expect(await shown.isVisible()).toBe(false)
  await first.getByText('Reason').click()
  await shown.waitFor()
  await keepScreenshot(tab, 'suppressions-open-390')
  expect(await faultsShown(tab)).toEqual([])
  expect(await pageFaults(tab, relay.baseUrl, [['suppressions', '/suppressions']])).toEqual([])
})

test('a chart of few periods has bars that look like bars, with their values', async () => {
  const { relay, tab } = await visitDashboard()
  const now = relay.clock.now()
  await countHistory(relay, [{ at: now - hourMs, counts: { sent: 3, delivered: 2, bounced_permanent: 1 }, latencies: [[1_500, 2]] }])
  await tab.goto(`${relay.baseUrl}/analytics?period=90d&granularity=monthly`)
  const chart = tab.getByRole('region', { name: 'Per month' })
  const bar = chart.locator('svg.only-wide rect.bar.ok')
  await bar.first().waitFor()
  expect(await bar.count()).toBe(1)
  expect(await widthOf(bar)).toBeLessThan(80)
  expect(await chart.locator('svg.only-wide text.value').allTextContents()).toEqual(['2', '1'])
  expect(
    await pageFaults(tab, relay.baseUrl, [
      ['analytics-months', '/analytics?period=90d&granularity=monthly'],
      ['analytics-day', '/analytics?period=24h'],
    ]),
  ).toEqual([])
})

test('text that is enlarged alone fits beside the sidebar', async () => {
  const { relay, tab } = await visitDashboard()
  const id = await relay.send(['ann@inbox.example', 'bob@inbox.example'], { subject: 'Your order from Acme', html })
  for (const path of ['/', '/emails', `/emails/${id}`, '/suppressions', '/domains/sender.example', '/analytics']) {
    await tab.goto(relay.baseUrl + path)
    await tab.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => tab.locator('[aria-busy=true]').count()).toBe(0)
    await tab.locator('html').evaluate((root: any) => (root.style.fontSize = '200%'))
    await keepScreenshot(tab, `enlarged-${path.split('/')[1] || 'overview'}-${path.split('/').length}`)
    const sideways = await tab.locator('html').evaluate((root: any) => (root.scrollWidth - root.clientWidth) as number)
    expect([path, sideways]).toEqual([path, 0])
  }
})

test('the page of a link looks like the dashboard, also in German', async () => {
  const visit = await visitDashboard()
  const { relay, context } = visit
  const { people, accounts } = relay.relay.services
  const invited = { accountId: accounts.getAccount('test').id, email: 'carol@people.example', role: 'owner' as const, operator: false }
  const { token } = await people.users.invite(invited)
  const german = await context.browser()?.newContext({ locale: 'de-DE' })
  onTestFinished(() => german?.close())
  const tab = (await german?.newPage()) as Page
  await tab.goto(`${relay.baseUrl}/invite/${token}`)
  await tab.getByRole('button', { name: 'Passwort setzen' }).waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await tab.emulateMedia({ colorScheme })
    await keepScreenshot(tab, `invite-${colorScheme}`)
    expect(await faultsShown(tab)).toEqual([])
  }
  await tab.setViewportSize({ width: 320, height: 700 })
  await keepScreenshot(tab, 'invite-320')
  expect(await faultsShown(tab)).toEqual([])
})
