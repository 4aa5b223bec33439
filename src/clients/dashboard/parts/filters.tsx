import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { isDay } from '../days.ts'
import { setQuery } from '../router.tsx'
import { Choice, Field } from './fields.tsx'
import { FilterForm } from './form.tsx'

/** What a list can be filtered by. It is kept in the page's address, under the name that the API has for it. */
export interface Filter {
  name: string
  label: string
  hint?: string
  /** A choice of these values, with their words; otherwise something to type. `day`: a day, or a time that a link brought. */
  kind?: [string, string][] | 'text' | 'search' | 'day'
  /** The value that stands where the address names none. */
  usual?: string | undefined
  /** Another filter that means nothing any more once this one is changed. */
  resets?: string
}

interface FiltersFrame {
  filters: readonly Filter[]
  query: URLSearchParams
  children?: ComponentChildren
}

/** The fields to filter a list by. Enter applies what is typed, and so does leaving the field. */
export function Filters({ filters, query, children }: FiltersFrame) {
  const [typed, setTyped] = useState<Record<string, string>>({})
  const apply = (): void => {
    // Without the blanks that come along when something is pasted.
    setQuery({ ...Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, value.trim()])), after: null })
    setTyped({})
  }
  const show = ({ name, label, hint, kind = 'text', usual = '', resets }: Filter) => {
    const value = query.get(name) ?? usual
    return Array.isArray(kind) ? (
      <Choice
        key={name}
        name={name}
        label={label}
        value={value}
        options={kind}
        onValue={(chosen) => setQuery({ [name]: chosen === usual ? null : chosen, after: null, ...(resets && { [resets]: null }) })}
      />
    ) : (
      <Field
        key={name}
        name={name}
        label={label}
        hint={hint}
        type={kind === 'day' ? (isDay(query.get(name)) ? 'date' : 'text') : kind}
        maxLength={500}
        value={typed[name] ?? value}
        onValue={(text) => setTyped({ ...typed, [name]: text })}
        onChange={apply}
      />
    )
  }
  return (
    <FilterForm onApply={apply}>
      {filters.map(show)}
      {children}
    </FilterForm>
  )
}

export const isFilteredBy = (filters: readonly Filter[], query: URLSearchParams): boolean => filters.some(({ name }) => query.has(name))
