import { useId } from 'preact/hooks'
import type { DraftVariable } from '../template-draft.ts'
import { t } from '../texts/texts.ts'
import { Fault } from './answer.tsx'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { Panel } from './page.tsx'
import { useFault } from './refused.tsx'
import { Rows, type Column } from './rows.tsx'

interface VariablesForm {
  declared: DraftVariable[]
  /** Names that the template uses and that have neither a value nor a fallback. */
  missing: readonly string[]
  /** What is typed for the preview, by name. */
  values: Record<string, string>
  onValues(values: Record<string, string>): void
  /** Null for those who may not change the template. */
  onDeclared: ((declared: DraftVariable[]) => void) | null
}

interface NamedVariable {
  name: string
  /** Null: not declared. */
  variable: DraftVariable | null
}

/** The variables of a template: what the preview fills in, and how each is declared. */
export function TemplateVariables({ declared, missing, values, onValues, onDeclared }: VariablesForm) {
  const given = Object.keys(values).filter((name) => values[name] !== '')
  const names = [...new Set([...declared.map(({ key }) => key), ...missing, ...given])]
  const rows = names.map((name) => ({ name, variable: declared.find(({ key }) => key === name) ?? null }))
  const change = (name: string, changes: Partial<DraftVariable>): void =>
    onDeclared?.(declared.map((variable) => (variable.key === name ? { ...variable, ...changes } : variable)))
  const readOnly = onDeclared === null
  const columns: Column<NamedVariable>[] = [
    { head: t.template.variable, kind: 'title', cell: ({ name }) => <code>{name}</code> },
    {
      head: t.template.previewValue,
      cell: ({ name, variable }) => (
        <input
          class="field"
          aria-label={t.template.valueOf(name)}
          placeholder={variable?.fallback ?? ''}
          value={values[name] ?? ''}
          onInput={(event) => onValues({ ...values, [name]: event.currentTarget.value })}
        />
      ),
    },
    {
      head: t.template.type,
      cell: (row) => <TypeChoice {...row} readOnly={readOnly} onType={(type) => change(row.name, { type })} />,
    },
    {
      head: t.template.fallback,
      cell: ({ name, variable }) =>
        variable && (
          <input
            class="field"
            aria-label={t.template.fallbackOf(name)}
            placeholder={t.template.required}
            value={variable.fallback}
            readOnly={readOnly}
            onInput={(event) => change(name, { fallback: event.currentTarget.value })}
          />
        ),
    },
    ...(onDeclared ? [{ head: '', kind: 'number' as const, cell: declaration(declared, onDeclared) }] : []),
  ]
  const id = useId()
  const fault = useFault('variables', id)
  return (
    <Panel heading={t.template.variables} text={names.length === 0 ? t.template.noVariables : t.template.variablesHow}>
      {fault !== null && (
        <div class="body" id={id} tabIndex={-1}>
          <Fault text={fault} />
        </div>
      )}
      {names.length > 0 && <Rows rows={rows} columns={columns} keyOf={({ name }) => name} />}
    </Panel>
  )
}

type Type = DraftVariable['type']

const TypeChoice = ({ name, variable, readOnly, onType }: NamedVariable & { readOnly: boolean; onType(type: Type): void }) =>
  variable ? (
    <select
      aria-label={t.template.typeOf(name)}
      value={variable.type}
      disabled={readOnly}
      onChange={(event) => onType(event.currentTarget.value as Type)}
    >
      {Object.entries(t.template.types).map(([type, word]) => (
        <option key={type} value={type}>
          {word}
        </option>
      ))}
    </select>
  ) : (
    <span class="muted">{t.common.anything}</span>
  )

/** The button that declares a variable, or takes its declaration back. */
const declaration = (declared: DraftVariable[], onDeclared: (declared: DraftVariable[]) => void) => (row: NamedVariable) => {
  const { name, variable } = row
  if (variable) {
    return (
      <button
        class="btn plain icon"
        type="button"
        aria-label={t.template.removeVariable(name)}
        onClick={() => onDeclared(declared.filter(({ key }) => key !== name))}
      >
        <Icon name="trash" />
      </button>
    )
  }
  return (
    isDeclarable(name) && (
      <Button
        look="small"
        text={t.template.declare}
        aria-label={t.template.declareName(name)}
        onClick={() => onDeclared([...declared, { key: name, type: 'string', fallback: '' }])}
      />
    )
  )
}

/** Members of objects are declared by the name of the whole. */
const isDeclarable = (name: string): boolean => /^[A-Za-z_]\w{0,49}$/.test(name)
