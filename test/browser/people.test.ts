import { simpleParser } from 'mailparser'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { totpCode, totpStepAt } from '../../src/account/totp.ts'
import { fromBase32 } from '../support/base32.ts'
import { faultsShown, pageFaults, visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'

/** Fills the form for a second factor in up to the recovery codes. */
async function setSecondFactorUp({ relay, tab }: DashboardVisit, password: string): Promise<string[]> {
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByRole('button', { name: 'Set up' }).click()
  const panel = tab.getByRole('region', { name: 'Second factor' })
  await panel.getByLabel('Current password').fill(password)
  await panel.getByRole('button', { name: 'Continue' }).click()
  await panel.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  const secret = fromBase32((await panel.locator('code').textContent()) ?? '')
  await panel.getByLabel('Code in the app').fill('000000')
  await panel.getByRole('button', { name: 'Turn on' }).click()
  await panel.getByText('This code is wrong.').waitFor()
  await panel.getByLabel('Code in the app').fill(totpCode(secret, totpStepAt(relay.clock.now())))
  await panel.getByRole('button', { name: 'Turn on' }).click()
  await panel.getByText('The second factor is on.').waitFor()
  return panel.getByRole('listitem').allTextContents()
}

/** Sends the form of the login page. */
async function enter(tab: Page, who: { email: string; password: string }): Promise<void> {
  await tab.getByLabel('Email address').fill(who.email)
  await tab.getByLabel('Password').fill(who.password)
  await tab.getByRole('button', { name: 'Log in' }).click()
}

test('a second factor is set up with an app, asked for at the next login, and turned off', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const ann = await visit.addUser('member')
  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, ann)
  await tab.getByRole('link', { name: ann.email }).click()
  await tab.getByRole('heading', { name: 'You log in with a password alone' }).waitFor()
  const codes = await setSecondFactorUp(visit, ann.password)
  expect(new Set(codes).size).toBe(10)
  const download = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Download' }).click()
  expect((await download).suggestedFilename()).toBe('sterna-recovery-codes.txt')
  expect(await faultsShown(tab)).toEqual([])
  await tab.getByRole('button', { name: 'I have kept them' }).click()
  await tab.getByRole('heading', { name: 'You log in with a password and a code' }).waitFor()
  expect(await tab.getByText(codes[0] ?? 'no code').count()).toBe(0)

  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, ann)
  await tab.getByLabel('Code of your authenticator app').fill(codes[0] ?? '')
  await tab.getByRole('button', { name: 'Log in' }).click()
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByRole('button', { name: 'Turn off' }).click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByLabel('Current password').fill(ann.password)
  await dialog.getByRole('button', { name: 'Turn off' }).click()
  await tab.getByRole('heading', { name: 'You log in with a password alone' }).waitFor()
})

test('a new password ends the sessions elsewhere, and one may be ended by itself', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const ann = await visit.addUser('viewer')
  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, ann)
  const loginElsewhere = () =>
    fetch(`${relay.baseUrl}/session`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0',
      },
      body: JSON.stringify(ann),
    })
  const cookie = (await loginElsewhere()).headers.get('set-cookie')?.split(';')[0] ?? ''
  const statusElsewhere = async () => (await fetch(`${relay.baseUrl}/session`, { headers: { cookie } })).status
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByText('This one').waitFor()
  const other = tab.getByRole('row', { name: /Firefox · Linux/ })
  await other.getByRole('button', { name: 'End' }).click()
  await other.waitFor({ state: 'detached' })
  expect(await statusElsewhere()).toBe(401)
  await loginElsewhere()
  const panel = tab.getByRole('region', { name: 'Password' })
  await panel.getByLabel('Current password').fill('not the password')
  await panel.getByLabel('New password').fill('another horse staple')
  await panel.getByRole('button', { name: 'Change the password' }).click()
  await panel.getByText('The password is wrong.').waitFor()
  await panel.getByLabel('Current password').fill(ann.password)
  await panel.getByRole('button', { name: 'Change the password' }).click()
  await panel.getByText('Your password is changed.').waitFor()
  await expect.poll(() => tab.getByRole('region', { name: 'Where you are logged in' }).getByRole('row').count()).toBe(2)
  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, { ...ann, password: 'another horse staple' })
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
})

test('a forgotten password is replaced by a link that comes by mail', async () => {
  const visit = await visitDashboard()
  const { relay, mx, tab } = visit
  const { people, accounts } = relay.relay.services
  const ann = { email: 'ann@inbox.example', password: 'correct horse battery' }
  const { token } = await people.users.invite({ ...ann, accountId: accounts.getAccount('test').id, role: 'member', operator: false })
  await people.users.takeInvitation(token, ann.password)
  await tab.getByRole('button', { name: 'Log out' }).click()
  await tab.getByLabel('Email address').fill(ann.email)
  await tab.getByRole('button', { name: 'Forgotten password?' }).click()
  await tab.getByRole('heading', { name: 'Set a new password' }).waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await tab.getByRole('button', { name: 'Send me a link' }).click()
  await tab.getByText('If ann@inbox.example is a user here').waitFor()
  await expect.poll(() => mx.messages.length).toBe(1)
  const { text = '' } = await simpleParser(mx.messages[0]?.data ?? '')
  await tab.goto(/http:\S+\/reset\/\S+/.exec(text)?.[0] ?? '')
  await tab.getByLabel('Password').fill('another horse staple')
  await tab.getByRole('button', { name: 'Set password' }).click()
  await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  await enter(tab, { ...ann, password: 'another horse staple' })
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
})

test('the pages about people pass the accessibility rules in both themes, wide and narrow', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard()
  expect(await pageFaults(tab, relay.baseUrl, [['me', '/me']])).toEqual([])
  await tab.getByRole('button', { name: 'Set up' }).click()
  await tab.getByRole('region', { name: 'Second factor' }).getByLabel('Current password').fill('correct horse battery')
  await tab.getByRole('button', { name: 'Continue' }).click()
  await tab.getByRole('img', { name: 'QR code' }).waitFor()
  expect(await faultsShown(tab)).toEqual([])
})
