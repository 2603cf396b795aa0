# Writes the recognised tables as CSV files with a header; a missing value is an empty text.
# Usage: Rscript convert.R UNPACKED OUT, where UNPACKED has the Debian packages that fetch unpacked.
args <- commandArgs(trailingOnly = TRUE)
from <- function(...) file.path(args[1], "usr", "lib", ...)
out <- function(table, name) {
  write.csv(table, file.path(args[2], paste0(name, ".csv")), row.names = FALSE, quote = TRUE, na = "")
}
lazy <- function(path, name) {
  e <- new.env()
  lazyLoad(from(path, "data", "Rdata"), e)
  get(name, e)
}

# Breast cancer (Wisconsin, diagnostic). The header of scikit-learn's file has the classes.
cancer <- read.csv(from("python3", "dist-packages", "sklearn", "datasets", "data", "breast_cancer.csv"),
  skip = 1, header = FALSE)
parts <- c("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
  "concave_points", "symmetry", "fractal_dimension")
names(cancer) <- c(paste0("mean_", parts), paste0("error_", parts), paste0("worst_", parts), "diagnosis")
cancer$diagnosis <- ifelse(cancer$diagnosis == 0, "malignant", "benign")
out(cancer, "breast-cancer")

# Diabetes of Pima women, in the version whose impossible zeros are missing values.
load(from("R", "site-library", "mlbench", "data", "PimaIndiansDiabetes2.rda"))
out(PimaIndiansDiabetes2, "pima")

# Credit scoring: numbers, categories and missing values of both.
out(lazy(file.path("R", "site-library", "modeldata"), "credit_data"), "credit")

# Free light chains. What is known at the blood sample predicts death within the follow-up; the time
# and the cause of death are left out, and so is the group of the chains, which the study derived.
chains <- lazy(file.path("R", "library", "survival"), "flchain")
chains$death <- ifelse(chains$death == 1, "dead", "alive")
out(chains[c("age", "sex", "sample.yr", "kappa", "lambda", "creatinine", "mgus", "death")], "flchain")

# Fatty liver disease: a row is a year of a patient with its laboratory values, at or before the index
# date, and death within the follow-up is the label. A patient has as many rows as such years.
people <- lazy(file.path("R", "library", "survival"), "nafld1")
labs <- lazy(file.path("R", "library", "survival"), "nafld2")
labs <- labs[labs$days <= 0 & labs$id %in% people$id, ]
labs$year <- floor(labs$days / 365.25)
mean_of <- aggregate(value ~ id + year + test, data = labs, FUN = mean)
visits <- reshape(mean_of, idvar = c("id", "year"), timevar = "test", direction = "wide")
names(visits) <- sub("^value\\.", "", names(visits))
visits <- merge(visits, people[c("id", "age", "male", "bmi", "status")], by = "id")
visits$age <- visits$age + visits$year
visits$status <- ifelse(visits$status == 1, "dead", "alive")
visits <- visits[order(visits$id, -visits$year), ]
tests <- setdiff(names(visits), c("id", "year", "age", "male", "bmi", "status"))
visits[tests] <- round(visits[tests], 3)
visits$bmi <- round(visits$bmi, 2)
visits <- visits[c("id", "age", "male", "bmi", tests, "status")]
out(visits, "nafld")
# The latest five years of each patient.
rank <- ave(seq_len(nrow(visits)), visits$id, FUN = seq_along)
out(visits[rank <= 5, ], "nafld-5")

# The two tables on which nothing was tuned. Primary breast cancers of Rotterdam: what is known at the operation
# predicts death within the follow-up; times and recurrence are left out.
cancers <- lazy(file.path("R", "library", "survival"), "rotterdam")
cancers$death <- ifelse(cancers$death == 1, "dead", "alive")
out(cancers[c("year", "age", "meno", "size", "grade", "nodes", "pgr", "er", "hormon", "chemo", "death")], "rotterdam")

# Customers of a telephone company, made up. A charge is minutes times a price.
customers <- lazy(file.path("R", "site-library", "modeldata"), "mlc_churn")
out(customers[setdiff(names(customers), c("state", grep("charge", names(customers), value = TRUE)))], "churn")

# Three tables of many columns of two values, with which the length of a row was checked. Wilms tumours: the relapse.
# Colon cancers, one row a patient: death in the follow-up. Software developers: work from home.
tumours <- lazy(file.path("R", "library", "survival"), "nwtco")
tumours$rel <- ifelse(tumours$rel == 1, "relapse", "none")
out(tumours[c("instit", "histol", "stage", "study", "age", "in.subcohort", "rel")], "nwtco")
patients <- lazy(file.path("R", "library", "survival"), "colon")
patients <- patients[patients$etype == 2, ]
patients$status <- ifelse(patients$status == 1, "dead", "alive")
out(patients[c("rx", "sex", "age", "obstruct", "perfor", "adhere", "nodes", "differ", "extent", "surg", "status")], "colon")
out(lazy(file.path("R", "site-library", "modeldata"), "stackoverflow"), "stackoverflow")
