import { expect, test } from 'vitest'
import { deliveryNotices } from '../../../src/senders/account/account-policy.ts'
import { Accounts } from '../../../src/senders/account/accounts.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { testDatabase } from '../../support/test-database.ts'
import { settableClock } from '../../support/settable-clock.ts'

const clock = settableClock()

/** The accounts of one database, held twice. */
async function heldTwice() {
  const db = await testDatabase()
  const [here, there] = [new Accounts({ db, clock, changes: aloneWithChanges }), new Accounts({ db, clock, changes: aloneWithChanges })]
  const shop = await here.create('shop', 'starter')
  await there.load()
  return { here, there, shop }
}

test('one that others have changed is held as it is now, and one that is gone is held no longer', async () => {
  const { here, there, shop } = await heldTwice()
  await there.change(shop.id, { plan: 'pro', status: 'suspended' })
  const second = await there.create('second', 'starter')
  expect(here.accountFor(shop.id)).toEqual(shop)
  expect(await here.reload(shop.id)).toEqual({ ...shop, plan: 'pro', status: 'suspended' })
  expect(await here.reload(second.id)).toEqual(second)
  expect(here.list()).toEqual(there.list())
  await there.remove(shop.id, 0)
  expect(await here.reload(shop.id)).toBeUndefined()
  expect(here.list()).toEqual([second])
})

test('a list that is read anew forgets what is gone, with all that was derived from it', async () => {
  const db = await testDatabase()
  const [here, there] = [accountPolicies(db), accountPolicies(db)]
  await here.change(deliveryNotices, 'acc_1', { wanted: true })
  expect(here.anywhere(deliveryNotices)).toEqual([{ wanted: false }, { wanted: true }])
  await there.forget('acc_1')
  await here.load()
  expect(here.anywhere(deliveryNotices)).toEqual([{ wanted: false }])
})

test('a change writes only what it changes', async () => {
  const { here, there, shop } = await heldTwice()
  await here.change(shop.id, { status: 'suspended' })
  expect(await there.change(shop.id, { plan: 'pro' })).toEqual({ ...shop, plan: 'pro', status: 'suspended' })
  expect((await here.reload(shop.id))?.plan).toBe('pro')
})
