import { expect, test } from 'vitest'
import { countComplainants } from '../../../src/notify/account-harm/count-complainants.ts'

test.each([
  [0, []],
  [2, ['ann@gmail.com', 'bob@gmail.com']],
  [2, ['ann@gmail.com', 'ann@yahoo.co.uk']],
  [1, ['ann@gmail.com', 'ann+a@gmail.com', 'a.n.n+b@gmail.com']],
  [1, ['a@shop.example', 'b@shop.example', 'c+d@mail.shop.example']],
  [2, ['a@shop.co.uk', 'a@other.co.uk']],
  [1, ['a@x.yahoo.com', 'b@y.yahoo.com']],
  [2, ['0a1b@erased.invalid', '2c3d@erased.invalid']],
])('%i people: %j', (people, addresses) => {
  expect(countComplainants(addresses)).toBe(people)
})
