import type { Context } from 'koa'
import type { Accepted } from '../submission/admission.ts'

/** Tells which header fields of these emails were left out, because their messages have their own. */
export function tellDropped(ctx: Pick<Context, 'set'>, emails: readonly Pick<Accepted, 'droppedHeaders'>[]): void {
  const names = new Map(emails.flatMap(({ droppedHeaders }) => (droppedHeaders ?? []).map((name) => [name.toLowerCase(), name])))
  if (names.size > 0) ctx.set('Dropped-Headers', [...names.values()].join(', '))
}
