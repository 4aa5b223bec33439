/** A file of a form. */
export interface FormFile {
  field: string
  filename: string
  /** As the client gave it; `application/octet-stream` says nothing. */
  contentType: string
  content: Buffer
}

/** What a form holds, in the order in which it came; a field may be there several times. */
export interface Form {
  fields: [name: string, value: string][]
  files: FormFile[]
}

export const valuesOf = ({ fields }: Form, name: string): string[] => fields.filter(([given]) => given === name).map(([, value]) => value)

/** Names and values of the fields that begin so, without that beginning. */
export const prefixed = ({ fields }: Form, prefix: string): [name: string, value: string][] =>
  fields.filter(([name]) => name.startsWith(prefix)).map(([name, value]) => [name.slice(prefix.length), value])
