import { expect, test } from 'vitest'
import { faultsShown, keepScreenshot, visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'

/** Ends all sessions of a user, as another browser of theirs would. */
async function endSessions({ relay }: DashboardVisit, who: { email: string; password: string }): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const elsewhere = await fetch(`${relay.baseUrl}/session`, { method: 'POST', headers, body: JSON.stringify(who) })
  const cookie = elsewhere.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { data } = (await (await fetch(`${relay.baseUrl}/session/all`, { headers: { cookie } })).json()) as any
  for (const { id, current } of data)
    if (!current) await fetch(`${relay.baseUrl}/session/all/${id}`, { method: 'DELETE', headers: { cookie } })
}

test('what was typed outlives the end of the session, and is sent after the next login; another user does not see it', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const [ann, bob] = [await visit.addUser('owner'), await visit.addUser('owner')]
  await tab.getByRole('button', { name: 'Log out' }).click()
  await tab.getByLabel('Email address').waitFor()
  await visit.logIn(ann)
  const open = async (url: string): Promise<void> => {
    await tab.goto(`${relay.baseUrl}/webhooks`)
    await tab.getByRole('button', { name: 'Add a webhook' }).first().click()
    await tab.getByRole('dialog').getByLabel('URL').fill(url)
    await tab.getByLabel('Description').fill('for the shop')
  }
  await open('https://shop.example/hook')
  await endSessions(visit, ann)
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await tab.getByRole('heading', { name: 'Log in again' }).waitFor()
  await keepScreenshot(tab, 'log-in-again')
  await tab.keyboard.press('Escape')
  expect(await faultsShown(tab)).toEqual([])
  expect(await tab.getByLabel('Email address').inputValue()).toBe(ann.email)
  await tab.getByLabel('Password').fill(ann.password)
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
  await expect.poll(async () => (await relay.call('GET', '/api/webhooks')).body.data).toMatchObject([{ description: 'for the shop' }])

  await open('https://shop.example/other')
  await endSessions(visit, ann)
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await tab.getByLabel('Email address').fill(bob.email)
  await tab.getByLabel('Password').fill(bob.password)
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
  await tab.getByRole('link', { name: bob.email }).waitFor()
  expect(await tab.getByText('https://shop.example/other').count()).toBe(0)
  expect(await tab.getByRole('dialog').count()).toBe(0)
  expect((await relay.call('GET', '/api/webhooks')).body.data).toHaveLength(1)
})

test('what is wrong stands at its field, which has the focus', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/domains`)
  await tab.getByRole('button', { name: 'Add a domain' }).first().click()
  const name = tab.getByLabel('Domain name')
  await name.fill('not a domain')
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  const isAtFault = async (): Promise<boolean> => (await name.getAttribute('aria-invalid')) === 'true'
  await expect.poll(isAtFault).toBe(true)
  expect(await name.evaluate((field: any) => field === field.ownerDocument.activeElement)).toBe(true)
  const dialog = tab.getByRole('dialog')
  expect(await dialog.getByRole('alert').count()).toBe(1)
  expect(await dialog.getByText('Request').count()).toBe(0)
  await keepScreenshot(tab, 'field-at-fault')
  expect(await faultsShown(tab)).toEqual([])
  // The API names no field for what is there already.
  await name.fill('sender.example')
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await expect.poll(() => dialog.getByRole('alert').textContent()).toMatch(/sender\.example/)
  expect(await isAtFault()).toBe(true)
})

test('what a template or a domain is refused for stands at its field, in a tab that opens for it', async () => {
  const { relay, tab } = await visitDashboard()
  const hasFocus = (field: any): boolean => field === field.ownerDocument.activeElement
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', subject: 'Hello', html: '<p>Hello</p>' })
  await relay.call('POST', '/api/templates', { name: 'Other', alias: 'other', subject: 'Hello', html: '<p>Hello</p>' })
  await tab.goto(`${relay.baseUrl}/templates/welcome`)
  for (const [label, typed] of [
    ['From', 'nobody'],
    // The API names no field for what is taken.
    ['Alias', 'other'],
  ] as const) {
    await tab.getByRole('tab', { name: 'Details' }).click()
    await tab.getByLabel(label, { exact: true }).fill(typed)
    await tab.getByRole('tab', { name: 'HTML' }).first().click()
    await tab.getByRole('button', { name: 'Save draft' }).click()
    const field = tab.getByLabel(label, { exact: true })
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
    await expect.poll(() => field.evaluate(hasFocus)).toBe(true)
    expect(await tab.getByRole('alert').count()).toBe(1)
    expect(await faultsShown(tab)).toEqual([])
    await field.fill('')
  }
  await tab.getByRole('button', { name: 'Save draft' }).click()
  await tab.getByRole('alert').waitFor({ state: 'detached' })

  await tab.goto(`${relay.baseUrl}/domains/sender.example`)
  const host = tab.getByLabel('Tracking host', { exact: false })
  await host.fill('not a label')
  await host.press('Enter')
  await expect.poll(() => host.getAttribute('aria-invalid')).toBe('true')
  expect(await host.evaluate(hasFocus)).toBe(true)
  expect(await tab.getByRole('main').getByRole('alert').count()).toBe(1)
  expect(await faultsShown(tab)).toEqual([])
})

test('a page that is first opened while the server is away comes by itself', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/keys`)
  await tab.getByRole('row', { name: /^test/ }).waitFor()
  await relay.relay.stop()
  await tab.getByRole('link', { name: 'Reports' }).first().click()
  await tab.getByText('The server cannot be reached.').waitFor()
  await relay.restart()
  await tab.getByRole('heading', { level: 1, name: 'Reports' }).waitFor()
  await tab.getByText('The server cannot be reached.').waitFor({ state: 'detached' })
})

test('on paper there is the page alone', async () => {
  const { relay, tab } = await visitDashboard()
  const id = await relay.send('ann@inbox.example', { subject: 'On paper' })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab.getByRole('heading', { name: 'On paper' }).waitFor()
  await tab.emulateMedia({ media: 'print', colorScheme: 'dark' })
  await keepScreenshot(tab, 'print-email')
  expect(await tab.getByRole('navigation', { name: 'Main' }).isVisible()).toBe(false)
  expect(await tab.getByRole('button', { name: 'Suppress an address' }).isVisible()).toBe(false)
  expect(await tab.getByRole('heading', { name: 'Timeline' }).isVisible()).toBe(true)
  // Dark text, though the screen is dark.
  expect(await tab.locator('h1').evaluate((head: any) => (globalThis as any).getComputedStyle(head).color)).toBe('rgb(21, 32, 43)')
})
