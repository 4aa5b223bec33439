import { expect, test } from 'vitest'
import { z } from 'zod'
import { flag, resource, time, timeOrNull } from '../../../src/api/operation/resource.ts'

interface CakeRow {
  id: string
  baker_name: string
  isWhole: boolean
  layers: string
  bakedAt: number
  eaten_at: number | null
  iced: number
}

const cake = resource<CakeRow>('Cake')({
  object: 'cake',
  id: z.string(),
  baker: [z.string().describe('Who made it.'), 'baker_name'],
  is_whole: z.boolean(),
  layers: [z.array(z.string()), ({ layers }) => layers.split(',')],
  baked_at: time(),
  eaten_at: timeOrNull('Null while some is left.'),
  iced: flag(),
})

test('a resource is shown as its schema says', () => {
  const row = { id: 'cake_1', baker_name: 'Ann', isWhole: true, layers: 'plum,cream', bakedAt: 0, eaten_at: null, iced: 1 }
  const shown = cake.answer(row)
  expect(shown).toEqual({
    object: 'cake',
    id: 'cake_1',
    baker: 'Ann',
    is_whole: true,
    layers: ['plum', 'cream'],
    baked_at: '1970-01-01T00:00:00.000Z',
    eaten_at: null,
    iced: true,
  })
  expect(z.strictObject(cake.schema.shape).parse(shown)).toEqual(shown)
})

test('a resource that is built upon another has its fields, and may show one in another way', () => {
  const slice = resource<CakeRow>('Slice')({ ...cake.fields, object: 'slice', of: [z.string(), 'id'] })
  const row = { id: 'cake_1', baker_name: 'Ann', isWhole: false, layers: '', bakedAt: 0, eaten_at: 1, iced: 0 }
  expect(slice.answer(row)).toEqual({ ...cake.answer(row), object: 'slice', of: 'cake_1' })
})

test('a field that the row has nothing for, or something else, is a fault of types that names it', () => {
  const missing = resource<CakeRow>(null)({ id: z.string(), size: z.int() }) satisfies { fieldsThatDoNotFit: 'size' }
  // @ts-expect-error it fits
  const fitting: { fieldsThatDoNotFit: never } = resource<CakeRow>(null)({ id: z.string() })
  const other = resource<CakeRow>(null)({ layers: z.int(), iced: z.string() }) satisfies { fieldsThatDoNotFit: 'layers' | 'iced' }
  expect([missing, fitting, other]).toHaveLength(3)
})
