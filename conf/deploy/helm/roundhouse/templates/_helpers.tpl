{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "roundhouse.name" -}}
{{ .Values.nameOverride | default "roundhouse" | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- define "roundhouse.account" -}}
{{ .Values.serviceAccount.name | default (include "roundhouse.name" .) }}
{{- end }}
{{- define "roundhouse.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
