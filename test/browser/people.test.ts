import { simpleParser } from 'mailparser'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { totpCode, totpStepAt } from '../../src/senders/account/totp.ts'
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
  // A page that is being left may still ask for a login of its own.
  await tab.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  await tab.getByLabel('Email address').fill(who.email)
  await tab.getByLabel('Password').fill(who.password)
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
}

test('a second factor is set up with an app, asked for at the next login, and turned off', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const ann = await visit.addUser('member')
  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, ann)
  await tab.getByRole('link', { name: ann.email }).click()
  await tab.getByText('Anybody who learns your password can log in.').waitFor()
  const codes = await setSecondFactorUp(visit, ann.password)
  expect(new Set(codes).size).toBe(10)
  const download = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Download' }).click()
  expect((await download).suggestedFilename()).toBe('sterna-recovery-codes.txt')
  expect(await faultsShown(tab)).toEqual([])
  await tab.getByRole('button', { name: 'I have saved them' }).click()
  await tab.getByText('A code from your authenticator app is asked for').waitFor()
  expect(await tab.getByText(codes[0] ?? 'no code').count()).toBe(0)

  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, ann)
  await tab.getByLabel('Code from your authenticator app').fill(codes[0] ?? '')
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByRole('button', { name: 'Turn off' }).click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByLabel('Current password').fill(ann.password)
  await dialog.getByRole('button', { name: 'Turn off' }).click()
  await tab.getByText('Anybody who learns your password can log in.').waitFor()
})

test('a new password ends the sessions elsewhere, and one may be ended by itself', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const ann = await visit.addUser('viewer')
  await tab.getByRole('button', { name: 'Log out' }).click()
  await enter(tab, ann)
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
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
  await tab.getByText('This session').waitFor()
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
  await panel.getByText('Your password has been changed.').waitFor()
  await expect.poll(() => tab.getByRole('region', { name: 'Sessions' }).getByRole('row').count()).toBe(2)
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
  await tab.getByText('If ann@inbox.example belongs to a user here').waitFor()
  await expect.poll(() => mx.messages.length).toBe(1)
  const { text = '' } = await simpleParser(mx.messages[0]?.data ?? '')
  await tab.goto(/http:\S+\/reset\/\S+/.exec(text)?.[0] ?? '')
  await tab.getByLabel('Password').fill('another horse staple')
  await tab.getByRole('button', { name: 'Set password' }).click()
  await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  await enter(tab, { ...ann, password: 'another horse staple' })
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
})

test('an owner invites somebody with a link, changes the role, and removes them', async () => {
  const visit = await visitDashboard()
  const { relay, tab, context } = visit
  await tab.getByRole('link', { name: 'People', exact: true }).click()
  await tab.getByRole('heading', { name: 'Users' }).waitFor()
  await tab.getByRole('button', { name: 'Invite somebody' }).click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByLabel('Email address').fill('bob@people.example')
  await dialog.getByLabel('Role').selectOption('viewer')
  await dialog.getByRole('button', { name: 'Invite somebody' }).click()
  const link = (await tab.locator('.token code').textContent()) ?? ''
  expect(link).toMatch(new RegExp(`^${relay.baseUrl}/invite/`))
  await tab.getByRole('button', { name: 'I have passed it on' }).click()
  expect(await tab.getByText(link).count()).toBe(0)
  const bob = tab.getByRole('row', { name: /bob@people\.example/ })
  await bob.getByText('Invited').waitFor()

  const elsewhere = await context.browser()?.newContext({ locale: 'en-GB' })
  const bobsTab = await elsewhere!.newPage()
  await bobsTab.goto(link)
  await bobsTab.getByLabel('Password').fill('correct horse battery')
  await bobsTab.getByRole('button', { name: 'Set password' }).click()
  await bobsTab.getByRole('navigation', { name: 'Main' }).waitFor()
  expect(await bobsTab.getByRole('link', { name: 'People', exact: true }).count()).toBe(0)
  await bobsTab.goto(`${relay.baseUrl}/people`)
  await bobsTab.getByRole('heading', { name: 'This page is for owners and admins' }).waitFor()

  await bob.getByRole('button', { name: 'Change' }).click()
  await dialog.getByLabel('Role').selectOption('admin')
  await dialog.getByRole('button', { name: 'Change' }).click()
  await bob.getByText('Admin', { exact: true }).waitFor()
  await bobsTab.reload()
  await bobsTab.getByRole('heading', { name: 'Users' }).waitFor()
  expect(await bobsTab.getByRole('tab', { name: 'Accounts' }).count()).toBe(0)
  // An admin has no control over an owner.
  expect(await bobsTab.getByRole('row', { name: /owner/ }).getByRole('button').count()).toBe(0)
  await bob.getByRole('button', { name: 'Remove' }).click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await bob.waitFor({ state: 'detached' })
  await bobsTab.reload()
  await bobsTab.getByRole('heading', { name: 'Log in' }).waitFor()
  await elsewhere?.close()

  await tab.getByRole('tab', { name: 'Audit' }).click()
  await tab.getByRole('rowheader', { name: 'users.invite' }).waitFor()
  await tab.getByLabel('Action').fill('users.delete')
  await tab.getByLabel('Action').press('Enter')
  await expect.poll(() => tab.getByRole('row').count()).toBe(2)
  expect(new URL(tab.url()).searchParams.get('action')).toBe('users.delete')
  await tab.getByLabel('Action').fill('nothing.like_it')
  await tab.getByLabel('Action').press('Enter')
  await tab.getByText('No change matches.').waitFor()
})

test('the last owner of an account is not removed, and the page says why', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const { accounts, people } = relay.relay.services
  const { id: accountId } = await accounts.create('shop', 'enterprise')
  const { token } = await people.users.invite({ accountId, email: 'last@shop.example', role: 'owner', operator: false })
  await people.users.takeInvitation(token, 'correct horse battery')
  await tab.goto(`${relay.baseUrl}/people?account=${accountId}`)
  await tab
    .getByRole('row', { name: /last@shop/ })
    .getByRole('button', { name: 'Remove' })
    .click()
  await tab.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await tab.getByRole('dialog').getByText('This is the last owner of the account').waitFor()
  await tab.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await tab.getByRole('row', { name: /last@shop/ }).waitFor()
})

test('an operator creates an account, suspends and resumes it, and acts in it with a line that says so', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/people?view=accounts`)
  await tab.getByRole('button', { name: 'Create an account' }).click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByLabel('Name').fill('shop')
  await dialog.getByLabel('Plan').selectOption('enterprise')
  await dialog.getByRole('button', { name: 'Create an account' }).click()
  const shop = tab.getByRole('row', { name: /^shop/ })
  await shop.getByRole('button', { name: 'Suspend' }).click()
  await dialog.getByRole('button', { name: 'Suspend' }).click()
  await shop.getByText('Suspended').waitFor()
  await shop.getByRole('button', { name: 'Resume' }).click()
  await dialog.getByRole('button', { name: 'Resume' }).click()
  await shop.getByText('Active').waitFor()
  await shop.getByRole('button', { name: 'Open' }).click()
  await tab.getByText('You are working in the account shop.').waitFor()
  await tab.goto(`${relay.baseUrl}/people?view=audit`)
  await tab.getByRole('rowheader', { name: 'session.create_token' }).first().waitFor()
  expect(await tab.getByLabel('Account').first().inputValue()).toBe(relay.relay.services.accounts.getAccount('shop').id)
  await tab.getByRole('button', { name: 'Back to your account' }).click()
  await tab.getByText('You are working in the account shop.').waitFor({ state: 'detached' })
  await tab.goto(`${relay.baseUrl}/people?view=accounts`)
  await shop.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByLabel('Type shop to confirm').fill('shop')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await shop.waitFor({ state: 'detached' })
})

test('a passkey is made on this device, lets its user in alone, and is renamed and removed', async () => {
  const visit = await visitDashboard({ host: 'localhost' })
  const { relay, tab, context } = visit
  const ann = await visit.addUser('member')
  await tab.getByRole('button', { name: 'Log out' }).click()
  const devtools = await context.newCDPSession(tab)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
  })
  await enter(tab, ann)
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
  await tab.goto(`${relay.baseUrl}/me`)
  const panel = tab.getByRole('region', { name: 'Passkeys' })
  await panel.getByText('No passkey yet.').waitFor()
  await panel.getByRole('button', { name: 'Add a passkey' }).click()
  await panel.getByLabel('Current password').fill('not the password')
  await panel.getByLabel('Name').fill('Laptop')
  await panel.getByRole('button', { name: 'Continue' }).click()
  await panel.getByText('The password is wrong.').waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await panel.getByLabel('Current password').fill(ann.password)
  await panel.getByRole('button', { name: 'Continue' }).click()
  await panel.getByRole('row', { name: /Laptop/ }).waitFor()
  // The device knows that it has one.
  await panel.getByRole('button', { name: 'Add a passkey' }).click()
  await panel.getByLabel('Current password').fill(ann.password)
  await panel.getByRole('button', { name: 'Continue' }).click()
  await panel.getByText('This device already has a passkey for you.').waitFor()
  await panel.getByRole('button', { name: 'Cancel' }).click()

  await tab.getByRole('button', { name: 'Log out' }).click()
  await tab.getByRole('button', { name: 'Log in with a passkey' }).click()
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
  expect(await tab.getByRole('link', { name: ann.email }).count()).toBe(1)
  await tab.getByRole('button', { name: 'Log out' }).click()
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await tab.getByRole('button', { name: 'Log in with a passkey' }).click()
  await tab.getByText('No passkey was used.').waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await enter(tab, ann)
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()

  await tab.goto(`${relay.baseUrl}/me`)
  const dialog = tab.getByRole('dialog')
  await panel.getByRole('button', { name: 'Rename' }).click()
  await dialog.getByLabel('Name').fill('Old laptop')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await panel
    .getByRole('row', { name: /Old laptop/ })
    .getByRole('button', { name: 'Remove' })
    .click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await panel.getByText('No passkey yet.').waitFor()
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  await tab.getByRole('button', { name: 'Log out' }).click()
  await tab.getByRole('button', { name: 'Log in with a passkey' }).click()
  await tab.getByText('This passkey is no longer valid here.').waitFor()
})

test('where passkeys cannot work, none is offered', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByText('This session').waitFor()
  expect(await tab.getByRole('region', { name: 'Passkeys' }).count()).toBe(0)
  await tab.getByRole('button', { name: 'Log out' }).click()
  await tab.getByRole('button', { name: 'Forgotten password?' }).waitFor()
  await tab.waitForLoadState('networkidle')
  expect(await tab.getByRole('button', { name: 'Log in with a passkey' }).count()).toBe(0)
})

test('a login leads nowhere but to a page of this server', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const ann = await visit.addUser('member')
  const { host } = new URL(relay.baseUrl)
  for (const next of ['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)']) {
    await tab.getByRole('button', { name: 'Log out' }).click()
    // Leaving the page at once would break the request off.
    await tab.getByRole('button', { name: 'Log in', exact: true }).waitFor()
    await tab.goto(`${relay.baseUrl}/login?next=${encodeURIComponent(next)}`)
    await enter(tab, ann)
    await tab.getByRole('navigation', { name: 'Main' }).waitFor()
    expect(new URL(tab.url()).host).toBe(host)
  }
})

test('the pages about people pass the accessibility rules in both themes, wide and narrow', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard()
  await relay.relay.services.accounts.create('shop', 'enterprise')
  const pages: [name: string, path: string][] = [
    ['me', '/me'],
    ['people', '/people?account=all'],
    ['accounts', '/people?view=accounts'],
    ['audit', '/people?view=audit'],
  ]
  expect(await pageFaults(tab, relay.baseUrl, pages)).toEqual([])
  await tab.getByRole('tab', { name: 'Users' }).click()
  await tab.getByRole('button', { name: 'Invite somebody' }).click()
  expect(await faultsShown(tab)).toEqual([])
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByRole('button', { name: 'Set up' }).click()
  await tab.getByRole('region', { name: 'Second factor' }).getByLabel('Current password').fill('correct horse battery')
  await tab.getByRole('button', { name: 'Continue' }).click()
  await tab.getByRole('img', { name: 'QR code' }).waitFor()
  expect(await faultsShown(tab)).toEqual([])
})
