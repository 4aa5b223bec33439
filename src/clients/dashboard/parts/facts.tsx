import type { ComponentChildren } from 'preact'
import { CopyValue } from './controls.tsx'

/** Facts of an object, each with its name. */
export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>

/** Left out where there is nothing to say. */
export const Fact = ({ name, children }: { name: ComponentChildren; children: ComponentChildren }) =>
  children ? (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  ) : null

/** A value that somebody will want to paste elsewhere. `of`: what it belongs to, where several have one of this name. */
export const CopyFact = ({ name, value, of, oneLine = false }: { name: string; value: string; of?: string; oneLine?: boolean }) => (
  <Fact name={name}>
    <CopyValue value={value} name={of === undefined ? name : `${name}, ${of}`} oneLine={oneLine} />
  </Fact>
)
